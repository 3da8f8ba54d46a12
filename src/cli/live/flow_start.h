#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "client/executions.h"

namespace reeve::cli {

// What to start, and how messages refer to it.
struct StartTerms {
  std::function<client::StartedExecution(client::Daemon&)> create;
  // What `--json` prints; by default the record of the execution.
  std::function<base::Value(client::Daemon&, base::ExecutionId)> record = {};
  // "flow" in "reeve flow show EX-9".
  std::string_view noun = "flow";
  // The daemon's refusal of files with problems.
  base::ErrorCode invalid = base::ErrorCode::flow_invalid;
};
// Honours the call's options: --detach, --no-wait.
ExitCode start_and_follow(const Call& call, const StartTerms& terms);
// The values of --input and --inputs. Throws `cli.usage`.
base::Value read_inputs(const Call& call);
// Sets the working folder (--project, else find_project_folder) and the environment in a request body. For a daemon
// that may be on another machine, nothing of this one is sent. Throws `cli.usage`.
void set_settings(const Call& call, base::Value& request, const std::filesystem::path& start);
// The enclosing project, or that of `start`; else this folder. Absolute.
std::string find_project_folder(const std::filesystem::path& start);

// Starts the workflow given by file or name and follows it, honouring --label, --input, --inputs, --detach and
// --no-wait. Used by `flow run` and `run-graph`.
ExitCode start_flow(const Call& call, const std::string& file, const std::optional<std::string>& label);

// The options of both commands and of `pipeline start`.
std::vector<Option> start_options();
// Options kept with the record of an execution: --meta, --phase.
std::vector<Option> record_options();

}  // namespace reeve::cli
