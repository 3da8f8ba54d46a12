#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "store/patches.h"

// What nodes changed, on its way into the person's checkout (ISO-4): each move with its history and its event in one
// transaction.
namespace reeve::ledger {

// The patch of that place, `created`. Made again: the same one, with what was changed by then as long as it is
// `created`; afterwards it stays as it is.
base::PatchId create_patch(Transaction& transaction, const model::Patch& patch);

struct PatchMove {
  model::PatchState to = model::PatchState::dropped;
  std::optional<std::string> reason = {};
  // Of the branch it was taken into, of the checkout it is in; nothing: as it was.
  std::optional<std::string> branch_commit = {};
  std::optional<std::string> applied_commit = {};
};
// Throws `patch.not_found`, and `patch.illegal_move` where ISO-4 has no such move.
model::Patch move_patch(Transaction& transaction, base::PatchId id, const PatchMove& move);

// A word on why it is still where it is, in its history; once, however often it is said.
void note_patch(Transaction& transaction, base::PatchId id, const std::string& reason);

// The same, and tells of it: a person has to do something about it.
void hold_patch(Transaction& transaction, base::PatchId id, const std::string& reason);

// The patch with its diff. Throws `patch.not_found`.
model::Patch get_patch(Transaction& transaction, base::PatchId id);

}  // namespace reeve::ledger
