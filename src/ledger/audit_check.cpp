#include "ledger/audit_check.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

bool AuditCheck::step(store::Session& session) {
  constexpr std::int64_t page = 500;
  // Read the expected count first, so that entries appended meanwhile do not count as missing.
  std::int64_t last = 0;
  session.query(Sql::audit_last, {}, [&](const Row& row) { last = row.integer(0); });
  const auto found = session.query(Sql::audit_since, {{"after", verdict_.entries}, {"most", page}},
                                   [&](const Row& row) { check(row); });
  if (verdict_.broken_at) return true;
  if (found > 0) return false;
  if (verdict_.entries < last) break_at(verdict_.entries + 1, "it is missing");
  return true;
}

void AuditCheck::check(const Row& row) {
  if (verdict_.broken_at) return;
  const std::int64_t seq = row.integer(0);
  if (seq != verdict_.entries + 1) {
    break_at(verdict_.entries + 1, "it is missing");
  } else if (row.text(5) != previous_) {
    break_at(seq, "it does not link to the previous entry");
  } else if (row.text(6) != hash_entry(previous_, seq, row.text(1), row.text(2), row.text(3), row.text(4))) {
    break_at(seq, "it was changed");
  } else {
    verdict_.entries = seq;
    previous_ = row.text(6);
  }
}

void AuditCheck::break_at(std::int64_t seq, std::string_view reason) {
  verdict_.broken_at = seq;
  verdict_.reason = reason;
}

AuditVerdict verify_audit(store::Session& session) {
  AuditCheck check;
  while (!check.step(session)) {
  }
  return check.verdict();
}

}  // namespace reeve::ledger
