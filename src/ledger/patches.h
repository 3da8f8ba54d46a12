#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "store/patches.h"

// Nodes' changes on their way into the user's checkout (ISO-4): each transition is stored with its history and event in
// one transaction.
namespace reeve::ledger {

// Creates the patch of that node attempt, in state `created`. If it exists, its changes are updated while it is still
// `created`; afterwards it stays unchanged.
base::PatchId create_patch(Transaction& transaction, const model::Patch& patch);

struct PatchMove {
  model::PatchState to = model::PatchState::dropped;
  std::optional<std::string> reason = {};
  // The commits on the execution's branch and in the checkout; empty: unchanged.
  std::optional<std::string> branch_commit = {};
  std::optional<std::string> applied_commit = {};
};
// Throws `patch.not_found`, and `patch.illegal_move` for a transition that ISO-4 does not allow.
model::Patch move_patch(Transaction& transaction, base::PatchId id, const PatchMove& move);

// Adds the reason for its current state to its history; a repeated reason is stored once.
void note_patch(Transaction& transaction, base::PatchId id, const std::string& reason);

// The same, and sends an event, because a user has to act.
void hold_patch(Transaction& transaction, base::PatchId id, const std::string& reason);

// The patch with its diff. Throws `patch.not_found`.
model::Patch get_patch(Transaction& transaction, base::PatchId id);

}  // namespace reeve::ledger
