#pragma once

#include <functional>
#include <vector>

#include "cli/command.h"
#include "project/project_identity.h"

namespace reeve::cli {

// The project and state folder with an id at the path of the call. Throws `project.denied` inside a run,
// `file.not_found`, `state.unknown` if nothing there is registered, `daemon.already_running`.
std::vector<project::FoundPlace> find_named_places(const Call& call, std::string_view command);
void print_places(const Call& call, const std::vector<project::FoundPlace>& places, std::string_view what);

}  // namespace reeve::cli
