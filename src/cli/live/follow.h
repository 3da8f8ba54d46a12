#pragma once

#include "cli/command.h"
#include "client/runs.h"

namespace reeve::cli {

// Follows a run: copies its standard output and error to ours, byte for byte.
class RunFollower {
 public:
  RunFollower(const Call& call, client::Daemon& daemon, base::RunId id, client::OutputPlace place)
      : call_(call), daemon_(daemon), id_(id), place_(place) {}

  // Follows each attempt until the run has ended (or waits). With --json, copies nothing.
  client::RunRecord follow(client::Until until);
  // Whether some output could not be written, for a reason other than a closed pipe.
  bool has_failed() const noexcept { return failure_ != 0; }

 private:
  void follow_attempt();
  bool write_out(model::Stream stream, std::string_view bytes);

  const Call& call_;
  client::Daemon& daemon_;
  base::RunId id_;
  client::OutputPlace place_;
  bool has_readers_ = true;
  int failure_ = 0;
};

// Prints the outcome on standard error, unless the exit code alone conveys it: "✗ TR-17 failed: signal 9".
void print_ending(const Call& call, const model::Run& run);

}  // namespace reeve::cli
