#pragma once

#include <optional>
#include <string>

#include "cli/command.h"

namespace reeve::cli {

// Starts the workflow that a file or a name means and follows it, as the call's options say: --label, --input,
// --inputs, --detach, --no-wait. `flow run` and `run-graph`.
ExitCode start_flow(const Call& call, const std::string& file, const std::optional<std::string>& label);

// The options that both have.
std::vector<Option> start_options();

}  // namespace reeve::cli
