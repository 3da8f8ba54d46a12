#pragma once

#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/project_ref.h"

namespace reeve::client {

// The projects that have runs or executions at this daemon.
std::vector<model::ProjectRef> list_projects(Daemon& daemon);

// Records that a project was moved: the daemon's records name its new path.
void move_project(Daemon& daemon, const std::string& before, const std::string& after);

}  // namespace reeve::client
