#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/project_ref.h"
#include "store/session.h"

namespace reeve::store {

// The projects that have runs or executions, by path, from the first one behind the path `after`.
std::vector<model::ProjectRef> list_projects(Session& session, const std::string& after, std::int64_t most);
// Whether a run or an execution of the project with this path exists.
bool has_project(Session& session, const std::string& path);

}  // namespace reeve::store
