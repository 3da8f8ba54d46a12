#include "store/projects.h"

#include <filesystem>

#include <fmt/format.h>

#include "json/decode.h"
#include "json/describe.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/run_files.h"
#include "runtime/settings/execution_settings.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/project_move.h"

// /api/projects
namespace reeve::server {

namespace {

using base::ErrorCode;
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

// How unfinished work is started is also in files: the next attempts begin in the new folder.
void rewrite_files(runtime::Daemon& daemon, const wire::ProjectMove& move, const std::vector<base::RunId>& open) {
  const project::StateFolder& folder = daemon.options().folder;
  for (const base::RunId run : open) {
    runtime::rewrite_folder((folder.runs() / run.text()).string(), move.before, move.after);
  }
  for (const base::ExecutionId execution : runtime::find_open_settings(folder)) {
    runtime::rewrite_project(folder, execution, move.before, move.after);
    daemon.driver().forget_settings(execution);
  }
}

void move(SharedExchange exchange) {
  deny_in_run_caller(exchange, "move a project");
  auto request = json::from_value<wire::ProjectMove>(exchange->body());
  if (!request) throw base::Error(base::ErrorCode::api_bad_request, request.error());
  if (!request->before.starts_with('/') || !request->after.starts_with('/')) {
    throw base::Error(base::ErrorCode::api_bad_request, "`before` and `after` must be absolute paths");
  }
  runtime::Daemon& daemon = exchange->daemon;
  const store::MovedProject moved{.before = request->before, .after = request->after, .host = daemon.context().host};
  runtime::ask_store(
      daemon.ledger(), daemon.loop(),
      [moved](ledger::Transaction& transaction) {
        auto open = store::write_project_moved(transaction.session(), moved);
        transaction.forget_executions();
        return open;
      },
      [exchange, move = std::move(*request)](const std::expected<std::vector<base::RunId>, base::Error>& open) {
        if (!open) return exchange->refuse(open.error());
        try {
          rewrite_files(exchange->daemon, move, *open);
        } catch (const base::Error& error) {
          return exchange->refuse(error);
        }
        exchange->send(200, json::to_value(move));
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
           .replies = {{200, page_of(schemas, "ProjectPage", schemas.of<model::ProjectRef>())}}},
          {.method = "POST",
           .path = "/api/projects/moved",
           .handle = move,
           .name = "moveProject",
           .inside = InRunAccess::reported,
           .summary = "Write the new path of a project that was moved into its records",
           .scope = Scope::admin,
           .body = schemas.of_request<wire::ProjectMove>({"before", "after"}),
           .replies = {{200, schemas.of<wire::ProjectMove>()}},
           .errors = {ErrorCode::run_unwritable, ErrorCode::file_unwritable, ErrorCode::approval_inside_run,
                      ErrorCode::execution_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
