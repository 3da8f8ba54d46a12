#include "store/projects.h"

namespace reeve::store {

std::vector<model::ProjectRef> list_projects(Session& session, const std::string& after, std::int64_t most) {
  std::vector<model::ProjectRef> found;
  session.query(Sql::projects_list, {{"after", after}, {"most", most}},
                [&](const Row& row) { found.push_back(model::make_project_ref(std::string(row.text(0)))); });
  return found;
}

}  // namespace reeve::store
