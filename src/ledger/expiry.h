#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/approvals.h"

// The effect of time on questions (APR-4).
namespace reeve::ledger {

// Overdue questions, questions past half of their time, at most `most` of each, and when to check again.
struct TimeDue {
  std::vector<base::ApprovalId> overdue;
  std::vector<base::ApprovalId> half;
  std::optional<base::WallTime> next;
};
TimeDue find_due(Transaction& transaction, std::int64_t most);
// Sends the reminder. Each in its own unit, like expiries, so that one failure does not block the others.
void remind(Transaction& transaction, base::ApprovalId id);

// `offset` is the wall time minus the kernel's boot clock. A jump of more than a minute within one boot moves the
// expiry of every open question with it; returns true if it did.
bool note_clock(Transaction& transaction, const std::string& host, const std::string& boot_id,
                base::Milliseconds offset);

// Among live runs believed to be waiting, those whose last question is no longer open, with the consequence.
std::vector<RunConsequence> find_answered(Transaction& transaction, const std::vector<base::RunId>& waiting);

}  // namespace reeve::ledger
