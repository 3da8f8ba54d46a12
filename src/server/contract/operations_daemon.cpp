#include "server/contract/operations.h"
#include "wire/check.h"
#include "wire/import_record.h"

// Contract of the operations on the daemon itself.
namespace reeve::server {

using base::Value;

std::vector<Operation> daemon_operations(json::Schemas& schemas) {
  const Value number = schemas.of<std::int64_t>();
  const Value health = schemas.add(
      "DaemonHealth",
      json::object_schema({{"status", json::word_schema({"ok"})},
                           {"version", json::string_schema()},
                           {"pid", number},
                           {"started_at", schemas.of<base::WallTime>()},
                           {"live_runs", number},
                           {"store", json::word_schema({"ok", "locked", "unreachable", "busy", "files_removed"})},
                           {"store_stalled_ms", number},
                           {"problem", json::string_schema()},
                           {"fix", json::string_schema()}},
                          {"status", "version", "pid", "started_at", "live_runs", "store", "store_stalled_ms"}));
  const Value checks =
      json::object_schema({{"status", schemas.of<wire::Health>()}, {"checks", schemas.of<std::vector<wire::Check>>()}},
                          {"status", "checks"});
  const Value look = json::object_schema({{"name", json::word_schema({"recovery", "store", "loop"})},
                                          {"status", json::word_schema({"ok", "failed"})},
                                          {"message", json::string_schema()}},
                                         {"name", "status"});
  const Value ready = json::object_schema(
      {{"status", json::word_schema({"ready"})}, {"checks", json::array_schema(schemas.add("ReadinessCheck", look))}},
      {"status", "checks"});
  const Value object = json::extended(Value::object(), "type", Value::string("object"));
  return {
      {.method = "GET",
       .path = "/healthz",
       .name = "getHealth",
       .inside = InRunAccess::anyone,
       .summary = "Report that the daemon is alive",
       .replies = {{200, health}}},
      {.method = "GET",
       .path = "/readyz",
       .name = "getReadiness",
       .inside = InRunAccess::anyone,
       .summary = "Report whether the daemon can work: recovery is complete, the store responds, the loop is not stuck",
       .replies = {{200, schemas.add("Readiness", ready)}},
       .errors = {"daemon.not_ready"}},
      {.method = "GET",
       .path = "/metrics",
       .name = "getMetrics",
       .inside = InRunAccess::refused,
       .summary = "Metrics in the Prometheus text format, listed in docs/METRICS.md",
       .replies = {{200, json::string_schema(), "text/plain"}}},
      {.method = "GET",
       .path = "/api/doctor",
       .name = "examine",
       .inside = InRunAccess::refused,
       .summary = "Check what runs need on this machine, as far as the daemon can tell",
       .replies = {{200, schemas.add("Examination", checks)}}},
      {.method = "POST",
       .path = "/api/daemon/stop",
       .name = "stopDaemon",
       .inside = InRunAccess::reported,
       .summary = "Stop the daemon; runs continue, and the next daemon takes them over",
       .scope = Scope::admin,
       .body = json::object_schema({}, {}),
       .replies = {{202, json::object_schema({}, {})}},
       .errors = {"approval.inside_run", "api.peer_gone"},
       .idempotency = IdempotencyMode::memory},
      {.method = "POST",
       .path = "/api/import",
       .name = "importDatabase",
       .inside = InRunAccess::reported,
       .summary = "Import another program's SQLite file from the daemon's machine, or report what would be imported",
       .scope = Scope::admin,
       .body = schemas.of_request<wire::ImportRequest>({"path"}),
       .replies = {{200, schemas.of<wire::ImportRecord>()}},
       .errors = {"import.not_found", "import.unreadable", "import.not_a_database", "import.damaged",
                  "import.too_large", "import.too_slow", "import.no_tables", "import.own_database", "import.busy",
                  "import.not_here", "import.stopped", "execution.inside_run", "api.peer_gone"},
       .idempotency = IdempotencyMode::answer},
      {.method = "GET",
       .path = "/api/openapi.json",
       .name = "getDescription",
       .inside = InRunAccess::anyone,
       .summary = "Get this document",
       .replies = {{200, object}},
       .is_tagged = true}};
}

}  // namespace reeve::server
