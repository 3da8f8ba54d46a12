#pragma once

#include <optional>

#include "cli/command.h"
#include "project/state_folder.h"

namespace reeve::cli {

// The state folder of this call. `--state` takes a state folder, or a project, by its path or by the name of its
// folder: then it is the state folder that serves the project. An existing folder is preferred to a name. Throws
// `cli.usage` for a name without a slash that no folder and no registered project has, or several have, and
// `cli.no_state_folder`.
project::StateFolder find_state_option(const Call& call);
// The same, or nothing if the call names none and the user has no home folder.
std::optional<project::StateFolder> find_any_state_option(const Call& call);

}  // namespace reeve::cli
