#pragma once

#include <vector>

#include "ledger/patches.h"
#include "model/config.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"

namespace reeve::runtime {

// The outcome of asking a person whether to apply a branch.
struct ApplyConsent {
  // For the caller, unless the apply may proceed.
  Isolation::Applied answer;
  bool may_proceed = false;
};

// Opens a question if the mode or the changed files need one, and uses a grant for exactly this state of the branch
// (APR-10). A used grant and the move of `patches` to `queued` are one transaction.
ApplyConsent ask_to_apply(IsolationContext& context, const ExecutionBranch& branch,
                          const std::vector<store::PatchRow>& patches, model::ApplyWhen mode);

}  // namespace reeve::runtime
