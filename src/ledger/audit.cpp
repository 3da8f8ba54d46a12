#include "ledger/audit.h"

#include "base/hash.h"
#include "json/encode.h"

namespace reeve::ledger {

using base::Value;
using store::Row;
using store::Sql;

std::string hash_entry(std::string_view previous, std::int64_t seq, std::string_view at, std::string_view kind,
                       std::string_view actor, std::string_view data) {
  // A list, so that no two different entries read the same.
  return base::sha256_hex(json::encode(Value::array({Value::string(previous), Value::integer(seq), Value::string(at),
                                                     Value::string(kind), Value::string(actor), Value::string(data)})));
}

void append_audit(Transaction& transaction) {
  if (transaction.audit().empty()) return;
  store::Session& session = transaction.session();
  const auto count = static_cast<std::int64_t>(transaction.audit().size());
  // The counter's row is locked from here to the commit: nobody else appends in between.
  std::int64_t seq = session.query_number(Sql::audit_reserve, {{"count", count}}) - count;
  std::string previous(first_previous);
  session.query(Sql::audit_head, {}, [&](const Row& row) { previous = row.text(0); });
  for (const AuditEntry& entry : transaction.audit()) {
    ++seq;
    const std::string hash =
        hash_entry(previous, seq, transaction.now_text(), base::spell(entry.kind), entry.actor, entry.data);
    session.write(Sql::audit_insert, {{"seq", seq},
                                      {"at", transaction.now_text()},
                                      {"kind", entry.kind},
                                      {"actor", entry.actor},
                                      {"data", entry.data},
                                      {"previous", previous},
                                      {"hash", hash}});
    previous = hash;
  }
}

AuditVerdict verify_audit(store::Session& session) {
  constexpr std::int64_t page = 1'000;
  AuditVerdict verdict;
  std::string previous(first_previous);
  const auto look_at = [&](const Row& row) {
    if (verdict.broken_at) return;
    const std::int64_t expected = verdict.entries + 1;
    const std::int64_t seq = row.integer(0);
    if (seq != expected) {
      verdict.broken_at = expected;
      verdict.reason = "it is missing";
    } else if (row.text(5) != previous) {
      verdict.broken_at = seq;
      verdict.reason = "it does not follow from the entry before";
    } else if (row.text(6) != hash_entry(previous, seq, row.text(1), row.text(2), row.text(3), row.text(4))) {
      verdict.broken_at = seq;
      verdict.reason = "it was changed";
    } else {
      verdict.entries = seq;
      previous = row.text(6);
    }
  };
  // How many there must be is read first: what is appended meanwhile is not missing.
  std::int64_t last = 0;
  session.query(Sql::audit_last, {}, [&](const Row& row) { last = row.integer(0); });
  while (!verdict.broken_at &&
         session.query(Sql::audit_since, {{"after", verdict.entries}, {"most", page}}, look_at) > 0) {
  }
  if (!verdict.broken_at && verdict.entries < last) {
    verdict.broken_at = verdict.entries + 1;
    verdict.reason = "it is missing";
  }
  return verdict;
}

}  // namespace reeve::ledger
