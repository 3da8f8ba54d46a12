#include "store/tasks.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "runtime/loop/store_task.h"
#include "server/resources/listing.h"
#include "server/routing/api.h"

// /api/tasks: read-only. Tasks come from `reeve import`.
namespace reeve::server {

namespace {

using base::Error;
using model::Task;

Error not_found(std::string_view id) {
  return {"task.not_found", fmt::format("there is no task {}", base::quoted(id)), "ids look like TK-5"};
}

void list(SharedExchange exchange) {
  store::TaskFilter filter{.statuses = parse_words<model::TaskStatus>(exchange->query("status"), "status", "statuses"),
                           .before = parse_cursor<base::TaskId>(*exchange),
                           .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  send_page(exchange, std::move(filter),
            Listing{store::list_tasks, [](const Task& task) { return task.task_id; },
                    [](const Task& task) { return json::to_value(task); }});
}

void show(SharedExchange exchange) {
  const auto id = base::TaskId::parse(exchange->parts.at(0));
  if (!id) throw not_found(exchange->parts.at(0));
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [id](ledger::Transaction& transaction) {
        auto found = store::find_task(transaction.session(), *id);
        if (!found) throw not_found(id->text());
        return std::move(*found);
      },
      [exchange](const std::expected<Task, Error>& task) {
        if (!task) return exchange->refuse(task.error());
        exchange->send(200, json::to_value(*task));
      });
}

}  // namespace

std::vector<Route> task_routes() { return {{"GET", "/api/tasks", list}, {"GET", "/api/tasks/*", show}}; }

}  // namespace reeve::server
