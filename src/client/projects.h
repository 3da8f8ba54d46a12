#pragma once

#include <vector>

#include "client/daemon.h"
#include "model/project_ref.h"

namespace reeve::client {

// The projects that have runs or executions at this daemon.
std::vector<model::ProjectRef> list_projects(Daemon& daemon);

}  // namespace reeve::client
