#pragma once

#include "ledger/audit.h"

namespace reeve::server {

// What ledger::verify_audit finds, found in steps: between two of them the store does other work, so that a long trail
// holds nobody up. What is appended meanwhile is looked at too.
class AuditCheck {
 public:
  // Looks at the next entries; true when there is nothing left to look at.
  bool step(store::Session& session);
  const ledger::AuditVerdict& verdict() const noexcept { return verdict_; }

 private:
  void look_at(const store::Row& row);
  void break_at(std::int64_t seq, std::string_view reason);

  ledger::AuditVerdict verdict_;
  std::string previous_{ledger::first_previous};
};

}  // namespace reeve::server
