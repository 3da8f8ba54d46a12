#pragma once

#include <functional>
#include <vector>

#include "cli/command.h"
#include "project/project_identity.h"

namespace reeve::cli {

// What lies at the path that the call names and has an id. Throws `project.denied` inside a run, `file.not_found`,
// `state.unknown` when nothing of it is registered, `daemon.already_running`.
std::vector<project::FoundPlace> find_named_places(const Call& call, std::string_view command);
void print_places(const Call& call, const std::vector<project::FoundPlace>& places, std::string_view what);

}  // namespace reeve::cli
