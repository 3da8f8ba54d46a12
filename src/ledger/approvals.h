#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/decision.h"
#include "ledger/executions.h"
#include "ledger/questions.h"

// Decisions on questions and their effect on the node or run that asked, in one transaction. Actions for a run are
// returned in the result, for its supervisor to perform.
namespace reeve::ledger {

struct DecisionResult {
  // As stored now; empty if there is no such approval.
  std::optional<model::Approval> approval;
  // Why the answer was refused; `approval` then names who decided.
  std::optional<engine::Refusal> refusal;
  StepResult step;
};

// APR-2, APR-3: the first answer decides; later ones learn who decided. Refusals are recorded in the audit trail.
DecisionResult decide_approval(Transaction& transaction, Executions& executions, const WorkerCapacity& worker,
                               base::ApprovalId id, const engine::Answer& answer);

// APR-4: overdue approvals, oldest first, at most `most`. Each is expired in its own unit, so that one failure does not
// block the others.
std::vector<base::ApprovalId> find_overdue(store::Session& session, base::WallTime now, std::int64_t most);
// Nothing if it is no longer pending or not yet overdue.
std::optional<model::Approval> expire_approval(Transaction& transaction, Executions& executions,
                                               const WorkerCapacity& worker, base::ApprovalId id, StepResult& result);

// APR-6: approvals that a direct SQL update has decided and no daemon has processed.
std::vector<base::ApprovalId> find_outside(store::Session& session, std::int64_t most);
struct OutsideResult {
  enum class Kind {
    // Already settled.
    nothing,
    // Valid: recorded as decided outside Reeve, with all its consequences.
    settled,
    // It left a row that no decision can produce: reverted, and the question is pending again.
    voided,
  };
  Kind kind = Kind::nothing;
  std::optional<model::Approval> approval;
  StepResult step;
};
OutsideResult settle_outside(Transaction& transaction, Executions& executions, const WorkerCapacity& worker,
                             base::ApprovalId id);

// APR-7, APR-10: consumes the grant, or voids it. Call it in the transaction that creates the attempt.
std::variant<engine::Used, engine::Voided, engine::GrantRefusal> use_grant(Transaction& transaction,
                                                                           base::ApprovalId id,
                                                                           const engine::Usage& usage);

}  // namespace reeve::ledger
