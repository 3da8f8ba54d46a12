#pragma once

#include "engine/risk.h"
#include "ledger/stored_execution.h"
#include "ledger/unit.h"
#include "model/approval.h"

// What the store knows about the risk of a question (APR-3).
namespace reeve::ledger {

// The levels that the execution was started with: those of its config at that time.
model::RiskLevels find_risk_levels(Transaction& transaction, base::ExecutionId execution);

// Stores the verdict in the approval.
void set_risk(model::Approval& approval, const engine::RiskSubject& subject, const model::RiskLevels& levels);
// The words of the approval: its question and its options.
std::vector<std::string> words_of(const model::Approval& approval);

// The question of a human node, with the files that the execution has changed so far. All of them are known only if
// each task that has run worked in a worktree.
void assess_workflow_question(Transaction& transaction, const StoredExecution& view, model::Approval& approval);

}  // namespace reeve::ledger
