#include "model/audit.h"

#include <limits>

#include "json/describe.h"
#include "json/parse.h"
#include "ledger/audit_check.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// /api/audit
namespace reeve::server {

namespace {

using base::Error;
using base::Value;

// Of entries.
constexpr std::int64_t max_number = std::numeric_limits<std::int64_t>::max();

Value describe(const runtime::AuditEntry& stored) {
  Value entry = Value::object();
  entry.set("seq", Value::integer(stored.seq));
  entry.set("at", Value::string(stored.at));
  entry.set("kind", Value::string(stored.kind));
  entry.set("actor", Value::string(stored.actor));
  // Tampered data that is not JSON is shown as text.
  auto data = json::parse(stored.data);
  entry.set("data", data ? std::move(*data) : Value::string(stored.data));
  entry.set("previous", Value::string(stored.previous));
  entry.set("hash", Value::string(stored.hash));
  return entry;
}

void list(SharedExchange exchange) {
  const std::int64_t asked = exchange->query_integer("limit", listed_by_default, 1, max_listed);
  // The number of the last entry seen; negative: that many before the end.
  std::int64_t since = exchange->query_integer("since", 0, -max_listed, max_number);
  if (exchange->query("cursor")) since = exchange->query_integer("cursor", 0, 0, max_number);
  exchange->daemon.queries().list_audit(
      since, asked + 1, [exchange, asked](std::expected<std::vector<runtime::AuditEntry>, Error> entries) {
        if (!entries) return exchange->refuse(entries.error());
        const bool has_more = static_cast<std::int64_t>(entries->size()) > asked;
        if (has_more) entries->pop_back();
        Value::Array items;
        for (const runtime::AuditEntry& entry : *entries) items.push_back(describe(entry));
        Value document = Value::object();
        document.set("next_cursor", has_more ? Value::string(std::to_string(entries->back().seq)) : Value());
        document.set("items", Value::array(std::move(items)));
        exchange->send(200, document);
      });
}

void answer_verdict(const SharedExchange& exchange, const ledger::AuditVerdict& verdict) {
  Value document = Value::object();
  document.set("whole", Value::boolean(verdict.is_whole()));
  document.set("entries", Value::integer(verdict.entries));
  document.set("broken_at", json::to_value(verdict.broken_at));
  document.set("reason", verdict.reason.empty() ? Value() : Value::string(verdict.reason));
  exchange->send(200, document);
}

void verify_on(const SharedExchange& exchange, const std::shared_ptr<ledger::AuditCheck>& check) {
  exchange->daemon.queries().check_audit(
      *check, [exchange, check](std::expected<std::pair<ledger::AuditCheck, bool>, Error> stepped) {
        if (!stepped) return exchange->refuse(stepped.error());
        *check = std::move(stepped->first);
        if (exchange->is_answered) return;
        if (stepped->second) return answer_verdict(exchange, check->verdict());
        verify_on(exchange, check);
      });
}

void verify(SharedExchange exchange) {
  // Stop verifying when the client disconnects.
  exchange->responder->on_closed([weak = std::weak_ptr(exchange)] {
    if (const auto open = weak.lock()) open->is_answered = true;
  });
  verify_on(exchange, std::make_shared<ledger::AuditCheck>());
}

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

}  // namespace

std::vector<Operation> audit_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/audit",
           .handle = list,
           .name = "listAudit",
           .inside = InRunAccess::refused,
           .summary = "List the audit trail, oldest first",
           .query = {integer_parameter("since", -max_listed, max_number,
                                       "only entries after this number; negative: that many from the end"),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "AuditPage", audit_entry(schemas))}}},
          {.method = "GET",
           .path = "/api/audit/verify",
           .handle = verify,
           .name = "verifyAudit",
           .inside = InRunAccess::refused,
           .summary = "Verify the audit trail, or report the first broken entry (APR-14)",
           .replies = {{200, audit_verdict(schemas)}}}};
}

}  // namespace reeve::server
