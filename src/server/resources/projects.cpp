#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// /api/projects
namespace reeve::server {

namespace {

using base::Value;

void list(SharedExchange exchange) {
  const std::int64_t asked = exchange->query_integer("limit", listed_by_default, 1, max_listed);
  // The path of the last project of the page before.
  const std::string after = exchange->query("cursor").value_or("");
  // Fetches one more than requested, to know whether there are more.
  exchange->daemon.queries().list_projects(
      after, asked + 1, [exchange, asked](std::expected<std::vector<model::ProjectRef>, base::Error> projects) {
        if (!projects) return exchange->refuse(projects.error());
        const bool has_more = static_cast<std::int64_t>(projects->size()) > asked;
        if (has_more) projects->pop_back();
        Value page = Value::object();
        page.set("next_cursor", has_more ? Value::string(projects->back().path) : Value());
        page.set("items", json::to_value(*projects));
        exchange->send(200, page);
      });
}

}  // namespace

std::vector<Operation> project_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/projects",
           .handle = list,
           .name = "listProjects",
           .inside = InRunAccess::refused,
           .summary = "List the projects that have runs or executions, by path",
           .query = {limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "ProjectPage", schemas.of<model::ProjectRef>())}}}};
}

}  // namespace reeve::server
