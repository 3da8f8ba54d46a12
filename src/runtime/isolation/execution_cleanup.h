#pragma once

#include <optional>
#include <vector>

#include "base/id.h"
#include "model/execution.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/gate_checkouts.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/node_changes.h"
#include "runtime/isolation/patch_ledger.h"
#include "runtime/isolation/worktree_pool.h"

namespace reeve::runtime {

// Cleanup after ended executions (ISO-1, ISO-4): uncommitted work becomes a patch, worktrees are removed, and the
// branch is kept while some of its changes are not in the checkout. Can be repeated after a crash.
class ExecutionCleanup {
 public:
  ExecutionCleanup(IsolationContext& context, PatchLedger& patches, WorktreePool& worktrees, GateCheckouts& checkouts,
                   NodeChanges& nodes)
      : context_(context), patches_(patches), worktrees_(worktrees), checkouts_(checkouts), nodes_(nodes) {}

  // Throws base::Error.
  void close(base::ExecutionId root);
  // The same; a failure is logged and returned as false.
  bool try_close(base::ExecutionId root);
  // Whether its worktrees have been removed.
  bool is_closed(base::ExecutionId root);
  // Ended executions of this host whose worktrees still exist.
  std::vector<base::ExecutionId> find_unclosed();
  // Nothing if the execution no longer exists.
  std::optional<model::ExecutionStatus> find_status(base::ExecutionId root);

 private:
  void close_remote_copy(base::ExecutionId root);
  void remove_worktrees(const ExecutionBranch& branch);
  // Lets git prune patches that are final or in the checkout.
  void forget_patches(const ExecutionBranch& branch, const std::optional<std::string>& head);

  IsolationContext& context_;
  PatchLedger& patches_;
  WorktreePool& worktrees_;
  GateCheckouts& checkouts_;
  NodeChanges& nodes_;
};

}  // namespace reeve::runtime
