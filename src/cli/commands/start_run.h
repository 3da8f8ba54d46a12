#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cli/command.h"
#include "cli/live/stdin_source.h"
#include "client/runs.h"

namespace reeve::cli {

// What a run gets at its standard streams.
struct RunEnds {
  // Keys are forwarded to its terminal.
  bool has_terminal = false;
  // Standard input that is sent to it.
  std::optional<StdinSource> source = {};
};

// The value of `--priority`, if it was given. Throws `cli.usage`.
std::optional<std::int64_t> read_priority(const Call& call);

// `run` and `rerun`: creates the run; with `--detach` prints its id, otherwise passes its output through to its end.
// With `--no-wait`, returns when it waits for an approval.
ExitCode start_run(const Call& call, client::Daemon& daemon, RunEnds ends,
                   const std::function<client::RunRecord()>& create);

}  // namespace reeve::cli
