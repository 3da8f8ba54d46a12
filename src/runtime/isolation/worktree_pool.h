#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/patch_ledger.h"
#include "runtime/isolation/worktree_folder.h"
#include "runtime/settings/isolation_settings.h"
#include "store/branches.h"

namespace reeve::runtime {

// The worktrees in which the tasks of an execution work, one task at a time each. A row is written before its folder
// is created, and is ready only while the folder is complete. Nothing in a folder is deleted unsaved (ISO-4). Every
// operation can be repeated after a crash. The rows are in the store; this object has no state.
class WorktreePool {
 public:
  WorktreePool(IsolationContext& context, PatchLedger& patches) : context_(context), patches_(patches) {}

  // The worktree that the attempt holds, or the execution's first free one; with a `worktree_id`, that one, and nothing
  // while another task holds it. If it needs a setup, finish_setup() must follow.
  std::optional<PreparedFolder> lease(const IsolationSettings& settings, const ExecutionBranch& branch,
                                      const NodeAttemptId& place);
  // Makes the worktree ready and returns its folder. Error: `git.worktree_gone`.
  std::string finish_setup(const ExecutionBranch& branch, const NodeAttemptId& place);
  // Ends the lease and resets the worktree to the branch.
  void release(const ExecutionBranch& branch, const NodeAttemptId& place);

  std::vector<store::WorktreeRow> list(base::ExecutionId root);
  std::optional<store::WorktreeRow> find_leased(const ExecutionBranch& branch, const NodeAttemptId& place);
  // A process in the worktree can remove the folder or replace it with a link; nothing is read from it then.
  static bool exists(const ExecutionBranch& branch, const store::WorktreeRow& row);
  void write(base::ExecutionId root, const store::WorktreeRow& row);
  // Saves leftovers as a patch first.
  void remove(const ExecutionBranch& branch, store::WorktreeRow row);

 private:
  // Nothing while another task holds it.
  std::optional<store::WorktreeRow> find_free(base::ExecutionId root, const NodeAttemptId& place);
  // True if the worktree must be set up before it is ready.
  bool lease_row(const IsolationSettings& settings, const ExecutionBranch& branch, store::WorktreeRow& row,
                 const store::WorktreeLease& holder);
  void save_leftovers(const ExecutionBranch& branch, store::WorktreeRow& row);
  void reset(const ExecutionBranch& branch, store::WorktreeRow row);

  IsolationContext& context_;
  PatchLedger& patches_;
};

}  // namespace reeve::runtime
