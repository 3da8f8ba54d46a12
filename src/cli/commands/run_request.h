#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "cli/command.h"
#include "cli/commands/start_run.h"
#include "client/daemon.h"

// The body of POST /api/runs, from the options of `run` and `agent run`.
namespace reeve::cli {

struct RunWords {
  // After `--`.
  std::vector<std::string> command = {};
  std::optional<std::string> tool = {};
  std::optional<std::string> prompt = {};
};

// What its standard streams become. Throws `cli.usage`.
RunEnds find_ends(const Call& call);
// Throws `cli.usage`.
base::Value make_run_request(const Call& call, const client::DaemonPlace& place, const RunWords& words,
                             const RunEnds& ends);
// Adds the project whose config applies, and tells once if that config is not trusted.
void add_project(base::Value& request, const client::DaemonPlace& place);
// Options of both commands.
std::vector<Option> run_options();

}  // namespace reeve::cli
