#include "client/projects.h"

#include "client/pages.h"

namespace reeve::client {

std::vector<model::ProjectRef> list_projects(Daemon& daemon) {
  std::vector<model::ProjectRef> projects;
  constexpr std::size_t max_projects = 10'000;
  read_pages(daemon, "/api/projects?", max_projects,
             [&](const base::Value& item) { projects.push_back(decode<model::ProjectRef>(item)); });
  return projects;
}

}  // namespace reeve::client
