#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ledger/audit.h"

namespace reeve::ledger {

struct AuditVerdict {
  std::int64_t entries = 0;
  // The first invalid entry, and what is wrong with it.
  std::optional<std::int64_t> broken_at;
  std::string reason;

  bool is_whole() const noexcept { return !broken_at; }
};

// Verifies the audit trail in steps, so that a long trail does not block the store. Entries appended meanwhile are
// checked too.
class AuditCheck {
 public:
  // Checks the next entries; true when none are left.
  bool step(store::Session& session);
  const AuditVerdict& verdict() const noexcept { return verdict_; }

 private:
  void check(const store::Row& row);
  void break_at(std::int64_t seq, std::string_view reason);

  AuditVerdict verdict_;
  std::string previous_{first_previous};
};

// All steps at once.
AuditVerdict verify_audit(store::Session& session);

}  // namespace reeve::ledger
