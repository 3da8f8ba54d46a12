#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "client/executions.h"

namespace reeve::cli {

// What is started, and how it is spoken of.
struct StartTerms {
  std::function<client::StartedExecution(client::Daemon&)> create;
  // What `--json` prints; without it the record of the execution.
  std::function<base::Value(client::Daemon&, base::ExecutionId)> record = {};
  // "reeve flow show EX-9"; also the area of errors.
  std::string_view noun = "flow";
};
// As the call's options say: --detach, --no-wait.
ExitCode start_and_follow(const Call& call, const StartTerms& terms);
// What --input and --inputs say. Throws `cli.usage`.
base::Value read_inputs(const Call& call);
// The folder that it works in (--project, else find_project_folder) and the variables it may have, as the bodies of
// requests have them. Of a daemon that may be on another machine nothing of this one. Throws `cli.usage`.
void set_ground(const Call& call, base::Value& wish, const std::filesystem::path& start);
// The project here, or the one around `start`; else this folder. Absolute.
std::string find_project_folder(const std::filesystem::path& start);

// Starts the workflow that a file or a name means and follows it, as the call's options say: --label, --input,
// --inputs, --detach, --no-wait. `flow run` and `run-graph`.
ExitCode start_flow(const Call& call, const std::string& file, const std::optional<std::string>& label);

// The options that both have, and starting a pipeline too.
std::vector<Option> start_options();
// What is kept with the record of an execution: --meta, --phase.
std::vector<Option> record_options();

}  // namespace reeve::cli
