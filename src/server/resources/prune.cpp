#include <algorithm>

#include <fmt/format.h>

#include "base/quantity.h"
#include "json/decode.h"
#include "json/describe.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/prune_record.h"

// /api/prune
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

void apply_age(const std::string& text, model::Retention& retention) {
  const auto age = base::parse_duration(text);
  if (!age || *age < std::chrono::days(1)) {
    throw Error(ErrorCode::api_bad_request,
                fmt::format("`older_than` must be at least a day: {}", base::duration_forms),
                "work of the last 24 hours is never pruned");
  }
  retention.runs = base::TimeLimit::of(*age);
  // Output is not kept longer than its run.
  retention.output = base::TimeLimit::of(std::min(*age, retention.output.after.value_or(*age)));
}

void prune(SharedExchange exchange) {
  deny_in_run_caller(exchange, "prune");
  const auto request = json::from_value<wire::PruneRequest>(exchange->body());
  if (!request) throw Error(ErrorCode::api_bad_request, request.error());
  const auto config = exchange->daemon.options().reload({});
  if (!config) throw config.error();
  model::Retention retention = config->retention;
  if (request->older_than) apply_age(*request->older_than, retention);
  retention.keep_failed = request->keep_failed.value_or(retention.keep_failed);
  exchange->daemon.pruner().prune(
      {.retention = retention, .is_dry_run = request->dry_run, .actor = exchange->actor()},
      [exchange, is_dry_run = request->dry_run](const std::expected<runtime::Pruner::Result, Error>& result) {
        if (!result) return exchange->refuse(result.error());
        const ledger::PruneCounts& counts = result->counts;
        exchange->send(200, json::to_value(wire::PruneRecord{.dry_run = is_dry_run,
                                                             .runs = counts.runs,
                                                             .executions = counts.executions,
                                                             .events = counts.events,
                                                             .outputs = counts.outputs,
                                                             .folders = result->folders,
                                                             .refs = result->refs}));
      });
}

}  // namespace

std::vector<Operation> prune_operations(json::Schemas& schemas) {
  return {{.method = "POST",
           .path = "/api/prune",
           .handle = prune,
           .name = "prune",
           .inside = InRunAccess::reported,
           .summary = "Remove old records, output files and branches, or count them; by default as `retention` says",
           .scope = Scope::admin,
           .body = schemas.of_request<wire::PruneRequest>({}),
           .replies = {{200, schemas.of<wire::PruneRecord>()}},
           .errors = {ErrorCode::prune_busy, ErrorCode::config_invalid, ErrorCode::approval_inside_run,
                      ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
