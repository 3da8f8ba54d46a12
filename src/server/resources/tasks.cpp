#include "store/tasks.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "model/task.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"

// /api/tasks: read-only. Tasks come from `reeve import`.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using model::Task;

void list(SharedExchange exchange) {
  store::TaskFilter filter{.statuses = parse_words<model::TaskStatus>(exchange->query("status"), "status", "statuses"),
                           .before = parse_cursor<base::TaskId>(*exchange),
                           .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_tasks, [](const Task& task) { return task.task_id; },
                    [](const Task& task) { return json::to_value(task); }});
}

void show(SharedExchange exchange) {
  const std::string& name = exchange->parts.at(0);
  const auto id = base::TaskId::parse(name);
  if (!id) {
    throw Error(ErrorCode::task_not_found, fmt::format("there is no task {}", base::quoted(name)),
                "ids look like TK-5");
  }
  exchange->daemon.queries().get_task(*id, [exchange](const std::expected<Task, Error>& task) {
    if (!task) return exchange->refuse(task.error());
    exchange->send(200, json::to_value(*task));
  });
}

}  // namespace

std::vector<Operation> task_operations(json::Schemas& schemas) {
  const base::Value task = schemas.of<model::Task>();
  return {{.method = "GET",
           .path = "/api/tasks",
           .handle = list,
           .name = "listTasks",
           .inside = InRunAccess::refused,
           .summary = "List tasks, newest first",
           .query = {words_parameter("status", base::spellings<model::TaskStatus>(), "only tasks with these statuses"),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "TaskPage", task)}}},
          {.method = "GET",
           .path = "/api/tasks/{id}",
           .handle = show,
           .name = "getTask",
           .inside = InRunAccess::refused,
           .summary = "Get a task",
           .replies = {{200, task}},
           .errors = {ErrorCode::task_not_found},
           .is_tagged = true}};
}

}  // namespace reeve::server
