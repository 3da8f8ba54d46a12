#include "store/projects.h"

namespace reeve::store {

std::vector<model::ProjectRef> list_projects(Session& session, const std::string& after, std::int64_t most) {
  std::vector<model::ProjectRef> found;
  session.query(Sql::projects_list, {{"after", after}, {"most", most}},
                [&](const Row& row) { found.push_back(model::make_project_ref(std::string(row.text(0)))); });
  return found;
}

bool has_project(Session& session, const std::string& path) {
  bool found = false;
  session.query(Sql::projects_find, {{"path", path}}, [&](const Row&) { found = true; });
  return found;
}

}  // namespace reeve::store
