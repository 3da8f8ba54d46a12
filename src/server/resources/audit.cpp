#include <algorithm>
#include <limits>

#include "json/describe.h"
#include "json/parse.h"
#include "ledger/audit_check.h"
#include "runtime/loop/store_task.h"
#include "server/routing/api.h"

// /api/audit
namespace reeve::server {

namespace {

using base::Error;
using base::Value;

constexpr std::int64_t max_listed = 500;

Value read_entry(const store::Row& row) {
  Value entry = Value::object();
  entry.set("seq", Value::integer(row.integer(0)));
  entry.set("at", Value::string(row.text(1)));
  entry.set("kind", Value::string(row.text(2)));
  entry.set("actor", Value::string(row.text(3)));
  // Tampered data that is not JSON is shown as text.
  auto data = json::parse(row.text(4));
  entry.set("data", data ? std::move(*data) : Value::string(row.text(4)));
  entry.set("previous", Value::string(row.text(5)));
  entry.set("hash", Value::string(row.text(6)));
  return entry;
}

void list(SharedExchange exchange) {
  const std::int64_t asked = exchange->query_integer("limit", 50, 1, max_listed);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  // The number of the last entry seen; negative: that many before the end.
  std::int64_t since = exchange->query_integer("since", 0, -max_listed, most);
  if (exchange->query("cursor")) since = exchange->query_integer("cursor", 0, 0, most);
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [since, asked](ledger::Transaction& transaction) {
        store::Session& session = transaction.session();
        std::int64_t after = since;
        if (since < 0)
          session.query(store::Sql::audit_last, {}, [&](const store::Row& row) { after += row.integer(0); });
        after = std::max<std::int64_t>(after, 0);
        Value::Array entries;
        session.query(store::Sql::audit_since, {{"after", after}, {"most", asked + 1}},
                      [&](const store::Row& row) { entries.push_back(read_entry(row)); });
        return entries;
      },
      [exchange, asked](std::expected<Value::Array, Error> entries) {
        if (!entries) return exchange->refuse(entries.error());
        const bool has_more = static_cast<std::int64_t>(entries->size()) > asked;
        if (has_more) entries->pop_back();
        Value document = Value::object();
        document.set("next_cursor",
                     has_more ? Value::string(std::to_string(*entries->back().find("seq")->as_integer())) : Value());
        document.set("items", Value::array(std::move(*entries)));
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
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      // A copy, because a unit whose transaction is rolled back runs again from the same state.
      [before = *check](ledger::Transaction& transaction) {
        ledger::AuditCheck after = before;
        const bool is_done = after.step(transaction.session());
        return std::pair(std::move(after), is_done);
      },
      [exchange, check](std::expected<std::pair<ledger::AuditCheck, bool>, Error> stepped) {
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

}  // namespace

std::vector<Route> audit_routes() { return {{"GET", "/api/audit", list}, {"GET", "/api/audit/verify", verify}}; }

}  // namespace reeve::server
