#include "client/projects.h"

#include "client/pages.h"
#include "json/describe.h"
#include "wire/project_move.h"

namespace reeve::client {

std::vector<model::ProjectRef> list_projects(Daemon& daemon) {
  std::vector<model::ProjectRef> projects;
  constexpr std::size_t max_projects = 10'000;
  read_pages(daemon, "/api/projects?", max_projects,
             [&](const base::Value& item) { projects.push_back(decode<model::ProjectRef>(item)); });
  return projects;
}

void move_project(Daemon& daemon, const std::string& before, const std::string& after) {
  daemon.post("/api/projects/moved", json::to_value(wire::ProjectMove{before, after}));
}

}  // namespace reeve::client
