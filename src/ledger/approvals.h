#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/decision.h"
#include "ledger/executions.h"
#include "ledger/questions.h"

// What is decided about questions, and what follows for the node or the run that asked, in one transaction. What is to
// be done for a run is told in the result: the one who supervises it does it.
namespace reeve::ledger {

struct DecisionResult {
  // As it is stored now; nothing when there is no such approval.
  std::optional<model::Approval> approval;
  // Why it was not decided; the approval then says who was faster.
  std::optional<engine::Refusal> refusal;
  StepResult step;
};

// APR-2, APR-3: the first decides, the others are told who it was. A refusal is in the audit trail too.
DecisionResult decide_approval(Transaction& transaction, Executions& executions, const Worker& worker,
                               base::ApprovalId id, const engine::Answer& answer);

// APR-4: those past their time, oldest first, at most so many. Each is expired by itself: what goes wrong with one
// keeps none of the others.
std::vector<base::ApprovalId> find_overdue(store::Session& session, base::WallTime now, std::int64_t most);
// Nothing when it is not pending any more, or its time is not over.
std::optional<model::Approval> expire_approval(Transaction& transaction, Executions& executions, const Worker& worker,
                                               base::ApprovalId id, StepResult& result);

// APR-6: those that a plain SQL update has decided and nobody has looked at.
std::vector<base::ApprovalId> find_outside(store::Session& session, std::int64_t most);
struct OutsideResult {
  enum class Kind {
    // It was settled before.
    nothing,
    // It holds: entered as made outside, with all its consequences.
    settled,
    // It left a row that no decision can leave: taken back, the question is pending again.
    voided,
  };
  Kind kind = Kind::nothing;
  std::optional<model::Approval> approval;
  StepResult step;
};
OutsideResult settle_outside(Transaction& transaction, Executions& executions, const Worker& worker,
                             base::ApprovalId id);

// APR-7, APR-10: consumes the grant, or voids it. Belongs into the transaction that creates the attempt.
std::variant<engine::Used, engine::Voided, engine::GrantRefusal> use_grant(Transaction& transaction,
                                                                           base::ApprovalId id,
                                                                           const engine::Usage& usage);

}  // namespace reeve::ledger
