#include "ledger/audit.h"

#include "base/hash.h"
#include "json/encode.h"

namespace reeve::ledger {

using base::Value;
using store::Row;
using store::Sql;

std::string hash_entry(std::string_view previous, std::int64_t seq, std::string_view at, std::string_view kind,
                       std::string_view actor, std::string_view data) {
  // Hashes a list, so that no two different entries encode the same.
  return base::sha256_hex(json::encode(Value::array({Value::string(previous), Value::integer(seq), Value::string(at),
                                                     Value::string(kind), Value::string(actor), Value::string(data)})));
}

void append_audit(Transaction& transaction) {
  if (transaction.audit().empty()) return;
  store::Session& session = transaction.session();
  const auto count = static_cast<std::int64_t>(transaction.audit().size());
  // The counter's row is locked until the commit, so that no other session appends in between.
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

}  // namespace reeve::ledger
