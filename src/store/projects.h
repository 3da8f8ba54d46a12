#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/project_ref.h"
#include "store/session.h"

namespace reeve::store {

// The projects that have runs or executions, by path, from the first one behind the path `after`.
std::vector<model::ProjectRef> list_projects(Session& session, const std::string& after, std::int64_t most);
// Whether a run or an execution of the project with this path exists.
bool has_project(Session& session, const std::string& path);

// Writes the new path of a project that was moved into all records that name it on this host; those of unfinished runs
// also get new working folders. Returns the unfinished runs of the project.
struct MovedProject {
  std::string before;
  std::string after;
  std::string host;
};
std::vector<base::RunId> write_project_moved(Session& session, const MovedProject& moved);

}  // namespace reeve::store
