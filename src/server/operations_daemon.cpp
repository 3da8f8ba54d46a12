#include "server/operations.h"
#include "wire/check.h"
#include "wire/import_record.h"

// What is about the daemon itself, as it is promised.
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
       .inside = Inside::anyone,
       .summary = "Whether it is there",
       .replies = {{200, health}}},
      {.method = "GET",
       .path = "/readyz",
       .name = "getReadiness",
       .inside = Inside::anyone,
       .summary = "Whether it can work: the store answers, what the last daemon left is taken up, nothing is stuck",
       .replies = {{200, schemas.add("Readiness", ready)}},
       .errors = {"daemon.not_ready"}},
      {.method = "GET",
       .path = "/metrics",
       .name = "getMetrics",
       .inside = Inside::refused,
       .summary = "Figures in the text format of Prometheus, as docs/METRICS.md names them",
       .replies = {{200, json::string_schema(), "text/plain"}}},
      {.method = "GET",
       .path = "/api/doctor",
       .name = "examine",
       .inside = Inside::refused,
       .summary = "What runs need of this machine, as far as the daemon can look",
       .replies = {{200, schemas.add("Examination", checks)}}},
      {.method = "POST",
       .path = "/api/daemon/stop",
       .name = "stopDaemon",
       .inside = Inside::reported,
       .summary = "It leaves; runs go on, and the next daemon takes them over",
       .scope = Scope::admin,
       .body = json::object_schema({}, {}),
       .replies = {{202, json::object_schema({}, {})}},
       .errors = {"approval.inside_run", "api.peer_gone"},
       .keeping = Keeping::memory},
      {.method = "POST",
       .path = "/api/import",
       .name = "importDatabase",
       .inside = Inside::reported,
       .summary = "Takes over the rows of another program's SQLite file on the daemon's machine, or says what it would",
       .scope = Scope::admin,
       .body = schemas.of_request<wire::ImportRequest>({"path"}),
       .replies = {{200, schemas.of<wire::ImportRecord>()}},
       .errors = {"import.not_found", "import.unreadable", "import.not_a_database", "import.damaged",
                  "import.too_large", "import.too_slow", "import.no_tables", "import.own_database", "import.busy",
                  "import.not_here", "import.stopped", "execution.inside_run", "api.peer_gone"},
       .keeping = Keeping::answer},
      {.method = "GET",
       .path = "/api/openapi.json",
       .name = "getDescription",
       .inside = Inside::anyone,
       .summary = "This description",
       .replies = {{200, object}},
       .is_tagged = true}};
}

}  // namespace reeve::server
