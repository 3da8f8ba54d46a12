#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "ledger/ledger.h"
#include "ledger/patches.h"
#include "model/patch.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation_context.h"
#include "store/branches.h"

namespace reeve::runtime {

// Throws `patch.state`: "PA-3 is committed: it cannot be ACTION".
[[noreturn]] void throw_wrong_state(const model::Patch& patch, std::string_view action, std::string fix);

// The patches of executions: their rows and states in the store, and the refs that keep their commits in git. Has no
// state of its own. All members throw base::Error.
class PatchLedger {
 public:
  explicit PatchLedger(IsolationContext& context) : context_(context) {}

  // Error: `patch.not_found`.
  model::Patch get(base::PatchId id);
  std::vector<store::PatchRow> list(base::ExecutionId root);
  std::optional<store::PatchRow> find(const NodeAttemptId& place);
  // How many patches of that execution have that node name.
  int count(base::ExecutionId root, const std::string& node);

  // Stores the patch with its redacted diff, together with the worktree's row, and moves it on if asked. A repeated
  // call for the same attempt updates the patch.
  base::PatchId save(const ExecutionBranch& branch, model::Patch patch, const store::WorktreeRow& row,
                     const std::optional<ledger::PatchMove>& then = {});
  model::Patch move(base::PatchId id, const ledger::PatchMove& move);
  // Skips patches that already have the state.
  static void move_all(ledger::Transaction& transaction, const std::vector<store::PatchRow>& patches,
                       const ledger::PatchMove& move);
  // Closes the question whether to apply a branch when nothing is left to apply.
  static void close_idle_question(ledger::Transaction& transaction, base::ExecutionId root);

  // Requested by a person. Also removes the patch from the branch, so that it is not applied with the rest.
  model::Patch drop(base::PatchId id, const std::string& by);
  // Removes the change of a node that was cancelled after its change was merged. If later changes build on it, it stays
  // and the patch records that.
  void withdraw(ExecutionBranch& branch, const model::Patch& patch, const std::string& reason);
  // Does this for all cancelled nodes: a daemon that died between cancelling and withdrawing left it undone.
  void withdraw_cancelled(ExecutionBranch& branch);

  // Patches that are on the branch but not in the checkout.
  std::vector<store::PatchRow> find_waiting(base::ExecutionId root);
  // Whether everything that waits on the branch is queued, and there is something.
  bool is_queued(base::ExecutionId root);
  // Executions whose branch was being applied to the checkout.
  std::vector<base::ExecutionId> find_queued();
  // Single patches that were being applied for a person.
  std::vector<base::PatchId> find_queued_patches();
  // Whether the patch belongs to an execution whose branch is on a remote.
  bool is_of_shared(base::PatchId id);

 private:
  // Removes the patch from the branch. If later changes build on it, nothing is changed and the conflicting paths are
  // returned.
  std::vector<std::string> remove_from_branch(ExecutionBranch& branch, const model::Patch& patch,
                                              const ledger::PatchMove& move);

  IsolationContext& context_;
};

}  // namespace reeve::runtime
