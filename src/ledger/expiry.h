#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/approvals.h"

// What time does to questions (APR-4).
namespace reeve::ledger {

struct TimePassed {
  std::vector<model::Approval> expired;
  StepResult step;
  // When to look again; at once when more are overdue.
  std::optional<base::WallTime> next;
};
// Expires what is overdue and tells again of what has used half of its time, at most so many of each.
TimePassed pass_time(Transaction& transaction, Executions& executions, const Worker& worker, std::int64_t most);

// Wall time minus the kernel's clock since the boot, as it is now. A jump of more than a minute within one boot moves
// the expiry of every open question with it; true when it did.
bool note_clock(Transaction& transaction, const std::string& host, const std::string& boot_id,
                base::Milliseconds offset);

// Of runs that were believed to wait and whose process lives: those whose last question is not open any more, and what
// follows.
std::vector<RunConsequence> find_answered(Transaction& transaction, const std::vector<base::RunId>& waiting);

}  // namespace reeve::ledger
