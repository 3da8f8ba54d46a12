#include "ledger/failures.h"

#include "json/describe.h"
#include "runtime/loop/store_task.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// Dismissing failures: /api/runs/*/seen, /api/executions/*/seen, /api/failures/seen.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

void see_run(SharedExchange exchange) {
  runtime::Daemon& daemon = exchange->daemon;
  runtime::ask_store(
      daemon.ledger(), daemon.loop(),
      [id = exchange->run_id()](ledger::Transaction& transaction) { return ledger::dismiss_run(transaction, id); },
      [exchange](const std::expected<model::Run, Error>& run) {
        if (!run) return exchange->refuse(run.error());
        exchange->send(200, json::to_value(*run));
      });
}

auto answer_with_nothing(SharedExchange exchange) {
  return [exchange](const std::expected<void, Error>& done) {
    if (!done) return exchange->refuse(done.error());
    exchange->send(200, Value::object());
  };
}

void see_execution(SharedExchange exchange) {
  runtime::Daemon& daemon = exchange->daemon;
  runtime::ask_store(
      daemon.ledger(), daemon.loop(),
      [id = exchange->execution_id()](ledger::Transaction& transaction) { ledger::dismiss_execution(transaction, id); },
      answer_with_nothing(exchange));
}

void see_all(SharedExchange exchange) {
  runtime::Daemon& daemon = exchange->daemon;
  constexpr std::size_t longest_path = 4'096;
  runtime::ask_store(
      daemon.ledger(), daemon.loop(),
      [project = find_text(exchange->body(), "project", longest_path)](ledger::Transaction& transaction) {
        ledger::dismiss_all(transaction, project);
      },
      answer_with_nothing(exchange));
}

Operation make_operation(std::string_view path, void (&handle)(SharedExchange), std::string_view name,
                         std::string_view summary, Value reply) {
  return {.method = "POST",
          .path = path,
          .handle = handle,
          .name = name,
          .inside = InRunAccess::refused,
          .summary = summary,
          .scope = Scope::operate,
          .body = optional_members({}),
          .replies = {{200, std::move(reply)}},
          .idempotency = IdempotencyMode::answer};
}

}  // namespace

std::vector<Operation> failure_operations(json::Schemas& schemas) {
  const Value nothing = json::object_schema({}, {});
  Operation run =
      make_operation("/api/runs/{id}/seen", see_run, "dismissRun",
                     "Dismiss the failure of a run: it is no longer shown as news", schemas.of<model::Run>());
  run.errors = {ErrorCode::run_not_found, ErrorCode::run_not_failed};
  Operation execution = make_operation("/api/executions/{id}/seen", see_execution, "dismissExecution",
                                       "Dismiss the failure of an execution: it is no longer shown as news", nothing);
  execution.errors = {ErrorCode::execution_not_found, ErrorCode::execution_not_failed};
  Operation all = make_operation("/api/failures/seen", see_all, "dismissFailures",
                                 "Dismiss all failures of the last 30 days, or those of `project` (a path)", nothing);
  all.body = optional_members({{"project", json::string_schema()}});
  return {std::move(run), std::move(execution), std::move(all)};
}

}  // namespace reeve::server
