#include "store/projects.h"

#include "json/encode.h"

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

std::vector<base::RunId> write_project_moved(Session& session, const MovedProject& moved) {
  const std::string& before = moved.before;
  const std::string& after = moved.after;
  // The frozen config names the project too.
  const auto member = [](const std::string& path) { return R"("project":)" + json::encode(base::Value::string(path)); };
  session.write_any(Sql::project_moved_runs, {{"before", before}, {"after", after}});
  session.write_any(Sql::project_moved_folders, {{"before", before}, {"after", after}});
  session.write_any(
      Sql::project_moved_executions,
      {{"before", before}, {"after", after}, {"before_json", member(before)}, {"after_json", member(after)}});
  session.write_any(Sql::project_moved_approvals, {{"before", before}, {"after", after}});
  session.write_any(Sql::project_moved_tokens, {{"before", before}, {"after", after}});
  for (const Sql statement : {Sql::project_moved_branches, Sql::project_moved_places}) {
    session.write_any(statement, {{"before", before}, {"after", after}, {"host", moved.host}});
  }
  std::vector<base::RunId> open;
  session.query(Sql::project_open_runs, {{"project", after}},
                [&](const Row& row) { open.emplace_back(row.integer(0)); });
  return open;
}

}  // namespace reeve::store
