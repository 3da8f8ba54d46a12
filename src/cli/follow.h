#pragma once

#include "cli/command.h"
#include "client/runs.h"

namespace reeve::cli {

// A run as it passes by on this terminal: its standard output and error become ours, byte for byte.
class RunFollower {
 public:
  RunFollower(const Call& call, client::Daemon& daemon, base::RunId id, client::OutputPlace place)
      : call_(call), daemon_(daemon), id_(id), place_(place) {}

  // Attempt after attempt, until the run is over (or waits). With --json nothing passes by.
  client::RunRecord follow(client::Until until);
  // Some of the output could not be written, for another reason than that nobody reads it.
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

// How it ended, on standard error, where the code of the tool alone does not say it: "✗ TR-17 failed: signal 9".
void print_ending(const Call& call, const model::Run& run);

}  // namespace reeve::cli
