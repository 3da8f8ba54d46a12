#include <limits>

#include "model/audit.h"
#include "model/event.h"
#include "server/contract/operations.h"

// Contract of /api/audit, /api/events and /api/log.
namespace reeve::server {

namespace {

using base::Value;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Value audit_entry(json::Schemas& schemas) {
  const Value hash = json::string_schema("^[0-9a-f]{64}$");
  return schemas.add("AuditEntry", json::object_schema({{"seq", schemas.of<std::int64_t>()},
                                                        {"at", schemas.of<base::WallTime>()},
                                                        {"kind", schemas.of<model::AuditKind>()},
                                                        {"actor", json::string_schema()},
                                                        {"data", Value::object()},
                                                        {"previous", json::string_schema("^([0-9a-f]{64})?$")},
                                                        {"hash", hash}},
                                                       {"seq", "at", "kind", "actor", "data", "previous", "hash"}));
}

Value audit_verdict(json::Schemas& schemas) {
  return schemas.add("AuditVerdict", json::object_schema({{"whole", schemas.of<bool>()},
                                                          {"entries", schemas.of<std::int64_t>()},
                                                          {"broken_at", schemas.of<std::optional<std::int64_t>>()},
                                                          {"reason", schemas.of<std::optional<std::string>>()}},
                                                         {"whole", "entries", "broken_at", "reason"}));
}

// The remaining members depend on the kind (LOG-1).
Value open_record(Value schema) {
  return json::extended(std::move(schema), "additionalProperties", Value::boolean(true));
}

// `event` is the name that the client subscribed to (SPEC §9), which need not be an event kind.
Value event_line(json::Schemas& schemas) {
  return schemas.add("Event", open_record(json::object_schema({{"event", json::string_schema()},
                                                               {"timestamp", schemas.of<base::WallTime>()},
                                                               {"seq", schemas.of<std::int64_t>()}},
                                                              {"event", "timestamp", "seq"})));
}

Value log_line(json::Schemas& schemas) {
  return schemas.add("LogLine",
                     open_record(json::object_schema(
                         {{"event", json::string_schema()}, {"timestamp", schemas.of<base::WallTime>()}}, {"event"})));
}

}  // namespace

std::vector<Operation> record_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/audit",
           .name = "listAudit",
           .inside = InRunAccess::refused,
           .summary = "List the audit trail, oldest first",
           .query = {integer_parameter("since", -500, most,
                                       "only entries after this number; negative: that many from the end"),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "AuditPage", audit_entry(schemas))}}},
          {.method = "GET",
           .path = "/api/audit/verify",
           .name = "verifyAudit",
           .inside = InRunAccess::refused,
           .summary = "Verify the audit trail, or report the first broken entry (APR-14)",
           .replies = {{200, audit_verdict(schemas)}}},
          {.method = "GET",
           .path = "/api/events",
           .name = "readEvents",
           .inside = InRunAccess::refused,
           .summary = "Read events in order; the header `Reeve-Since` is the number after which they start",
           .query = {integer_parameter("since", 0, most, "only events after this number"),
                     flag_parameter("follow", "1: keep streaming; without `since`, new events only"),
                     text_parameter("events", "comma-separated names: only these events (docs/EVENTS.md)")},
           .replies = {{101, Value()},
                       {200, event_line(schemas), "application/x-ndjson"},
                       {200, json::string_schema(), "text/event-stream"}},
           .errors = {"events.no_names", "events.too_many_names", "events.unknown_name", "events.since_ahead",
                      "http.bad_upgrade"}},
          {.method = "GET",
           .path = "/api/log",
           .name = "readLog",
           .inside = InRunAccess::refused,
           .summary = "Read the end of combined.log (LOG-1), or follow it",
           .query = {flag_parameter("follow", "1: stream new lines only")},
           .replies = {{200, log_line(schemas), "application/x-ndjson"}}}};
}

}  // namespace reeve::server
