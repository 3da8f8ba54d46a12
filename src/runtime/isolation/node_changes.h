#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/patch.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/patch_ledger.h"
#include "runtime/isolation/worktree_pool.h"

namespace reeve::runtime {

// The change of one node attempt on its way from the worktree to the branch: a worktree to work in, a patch of what was
// changed there, and its merge or rejection. See class Isolation for the contracts; these throw base::Error. Every
// operation can be repeated after a crash and finds its earlier results.
class NodeChanges {
 public:
  NodeChanges(IsolationContext& context, PatchLedger& patches, WorktreePool& worktrees)
      : context_(context), patches_(patches), worktrees_(worktrees) {}

  // Nothing while another task holds the shared worktree. If the folder needs a setup, finish_prepare() must follow: it
  // makes the worktree ready and returns its folder.
  std::optional<PreparedFolder> begin_prepare(const IsolationSettings& settings, const NodeAttemptId& place);
  std::string finish_prepare(const IsolationSettings& settings, const NodeAttemptId& place);
  Isolation::Collected collect(const IsolationSettings& settings, const NodeAttemptId& place);
  void set_back(const IsolationSettings& settings, const NodeAttemptId& place);
  Isolation::Accepted accept(const IsolationSettings& settings, const NodeAttemptId& place);
  void reject(const IsolationSettings& settings, const NodeAttemptId& place, model::PatchState state,
              const std::string& reason);
  void reject(const ExecutionBranch& branch, const NodeAttemptId& place, model::PatchState state,
              const std::string& reason);
  void withdraw(const IsolationSettings& settings, const NodeAttemptId& place, const std::string& reason);

 private:
  void reject_older_attempts(const ExecutionBranch& branch, const NodeAttemptId& place);
  Isolation::Collected collect(const ExecutionBranch& branch, const NodeAttemptId& place);
  static model::Patch make_patch(const ExecutionBranch& branch, const NodeAttemptId& place,
                                 const store::WorktreeRow& row, const std::optional<std::string>& raw);
  std::vector<std::string> find_left_out(const ExecutionBranch& branch, const NodeAttemptId& place,
                                         const Isolation::Collected& collected);
  void save_interrupted(const ExecutionBranch& branch, const NodeAttemptId& place, store::WorktreeRow& row);
  Isolation::Accepted merge(ExecutionBranch& branch, const model::Patch& patch);
  // The merge is done, so a git error is only logged.
  void release_or_log(const ExecutionBranch& branch, const NodeAttemptId& place);

  IsolationContext& context_;
  PatchLedger& patches_;
  WorktreePool& worktrees_;
};

}  // namespace reeve::runtime
