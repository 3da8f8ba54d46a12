#pragma once

#include "cli/command.h"
#include "client/runs.h"

namespace reeve::cli {

// Follows a run: copies its standard output and error to ours. Byte for byte only to a terminal; elsewhere secrets are
// masked (LOG-4).
class RunFollower {
 public:
  RunFollower(const Call& call, client::Daemon& daemon, base::RunId id, client::OutputPlace place)
      : call_(call), daemon_(daemon), id_(id), place_(place) {}

  // Follows each attempt until the run has ended (or waits), or until our output has no reader. With --json, copies
  // nothing.
  client::RunRecord follow(client::Until until);
  // Waits until it is the turn of a queued run.
  void await_turn(const model::Run& run);
  // Whether some output could not be written, for a reason other than a closed pipe.
  bool has_failed() const noexcept { return failure_ != 0; }
  // Whether the reader of our output is gone: the end of the run was not awaited.
  bool has_lost_reader() const noexcept { return has_lost_reader_; }

 private:
  void follow_attempt(client::Until until);
  void tell_limit(const model::Run& run);
  bool write_out(model::Stream stream, std::string_view bytes);

  const Call& call_;
  client::Daemon& daemon_;
  base::RunId id_;
  client::OutputPlace place_;
  bool has_readers_ = true;
  bool has_lost_reader_ = false;
  int failure_ = 0;
  // The attempt whose usage limit was told.
  int told_limit_ = 0;
};

// "TR-17 waits for its turn", on standard error.
void print_turn(const Call& call, const model::Run& run);

// Prints an outcome other than success on standard error: "✗ TR-17 failed: signal 9", and of a run that waits the
// command that shows its question.
void print_ending(const Call& call, client::Daemon& daemon, const model::Run& run);

}  // namespace reeve::cli
