#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/approvals.h"

// What time does to questions (APR-4).
namespace reeve::ledger {

// What is overdue, what has used half of its time, at most so many of each; and when to look again.
struct TimeDue {
  std::vector<base::ApprovalId> overdue;
  std::vector<base::ApprovalId> half;
  std::optional<base::WallTime> next;
};
TimeDue find_due(Transaction& transaction, std::int64_t most);
// Tells of it once more. Each in a unit of its own, as expiries are: what goes wrong with one keeps none of the others.
void remind(Transaction& transaction, base::ApprovalId id);

// Wall time minus the kernel's clock since the boot, as it is now. A jump of more than a minute within one boot moves
// the expiry of every open question with it; true when it did.
bool note_clock(Transaction& transaction, const std::string& host, const std::string& boot_id,
                base::Milliseconds offset);

// Of runs that were believed to wait and whose process lives: those whose last question is not open any more, and what
// follows.
std::vector<RunConsequence> find_answered(Transaction& transaction, const std::vector<base::RunId>& waiting);

}  // namespace reeve::ledger
