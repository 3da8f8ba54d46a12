#include "runtime/isolation/execution_cleanup.h"

#include <utility>

#include "base/error.h"
#include "ledger/claims.h"
#include "runtime/isolation/attempt.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/kept_commits.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using model::PatchState;
using store::WorktreeRow;

namespace {

std::optional<model::ExecutionStatus> read_status(ledger::Transaction& transaction, base::ExecutionId root) {
  try {
    return ledger::find_root(transaction, root).status;
  } catch (const Error& error) {
    if (!error.is(ErrorCode::execution_not_found)) throw;
    return std::nullopt;
  }
}

// Also true for an execution that no longer exists.
bool is_over(ledger::Transaction& transaction, base::ExecutionId root) {
  const auto status = read_status(transaction, root);
  return !status || model::is_over(*status);
}

}  // namespace

void ExecutionCleanup::close(base::ExecutionId root) {
  if (ExecutionBranch::is_remote_copy(context_, root)) return close_remote_copy(root);
  auto branch = ExecutionBranch::find(context_, root);
  if (!branch) return;
  git::Repository& repository = branch->repository();
  remove_worktrees(*branch);
  context_.try_git("cannot update the branch of " + root.text(), [&] {
    patches_.withdraw_cancelled(*branch);
    if (repository.find_ref(branch_ref(root))) branch->restore_ref();
  });
  const auto head = repository.head();
  forget_patches(*branch, head);
  const bool is_in_checkout = head && repository.is_ancestor(branch->row().tip, *head);
  if (is_in_checkout || branch->row().tip == branch->row().base_commit) {
    forget_commit(repository, branch_ref(root));
    if (branch->row().remote) branch->unpublish();
  }
  context_.crash_point("isolation.before_closed");
  branch->set_open(false);
  context_.secrets.forget_secrets(root);
}

void ExecutionCleanup::forget_patches(const ExecutionBranch& branch, const std::optional<std::string>& head) {
  const base::ExecutionId root = branch.root();
  const auto is_in = [&](const std::string& commit) {
    try {
      return head && !commit.empty() && branch.repository().is_ancestor(commit, *head);
    } catch (const Error&) {
      // The commit may have been pruned.
      return false;
    }
  };
  for (const store::PatchRow& row : patches_.list(root)) {
    // In the checkout either as the original commit or as the commit made when it was applied.
    const bool is_there = row.patch.state == PatchState::committed &&
                          (is_in(row.patch.commit) || is_in(row.patch.applied_commit.value_or("")));
    if (is_there || is_final(row.patch.state)) forget_commit(branch.repository(), patch_ref(row.patch));
  }
}

bool ExecutionCleanup::try_close(base::ExecutionId root) {
  return attempt_or_log(context_.log_warning,
                        "cannot remove the worktrees of " + root.text() + " before the next start",
                        [&] { close(root); });
}

// The branch is on the remote, from which its owner host fetches it. Changes that were not accepted stay here (ISO-4).
void ExecutionCleanup::close_remote_copy(base::ExecutionId root) {
  const auto branch = ExecutionBranch::find_remote_copy(context_, root);
  if (!branch) return;
  git::Repository& repository = branch->repository();
  remove_worktrees(*branch);
  for (const store::PatchRow& row : patches_.list(root)) {
    const bool is_pushed = row.patch.branch_commit.has_value();
    if (is_pushed || is_final(row.patch.state)) forget_commit(repository, patch_ref(row.patch));
  }
  forget_commit(repository, branch_ref(root));
  context_.crash_point("isolation.before_guest_left");
  context_.in_store([&](store::Session& session) { store::delete_branch_place(session, root, context_.host); });
  context_.secrets.forget_secrets(root);
  context_.secrets.forget_ssh_agent(root);
}

void ExecutionCleanup::remove_worktrees(const ExecutionBranch& branch) {
  const base::ExecutionId root = branch.root();
  for (const WorktreeRow& row : worktrees_.list(root)) {
    if (!row.holder) continue;
    const NodeAttemptId held{
        root, row.holder->execution, row.holder->node_id, row.holder->iteration, row.holder->attempt, std::nullopt};
    nodes_.reject(branch, held, PatchState::quarantined, "the execution ended before the task did");
  }
  for (WorktreeRow& row : worktrees_.list(root)) worktrees_.remove(branch, std::move(row));
  checkouts_.remove_all(branch);
}

std::vector<base::ExecutionId> ExecutionCleanup::find_unclosed() {
  return context_.call([&](ledger::Transaction& transaction) {
    std::vector<base::ExecutionId> roots;
    for (const store::BranchRow& row : store::find_open_branches(transaction.session(), context_.host)) {
      if (context_.handles(row) && is_over(transaction, row.root)) roots.push_back(row.root);
    }
    return roots;
  });
}

std::optional<model::ExecutionStatus> ExecutionCleanup::find_status(base::ExecutionId root) {
  return context_.call([root](ledger::Transaction& transaction) { return read_status(transaction, root); });
}

bool ExecutionCleanup::is_closed(base::ExecutionId root) {
  const auto row = context_.find_branch(root);
  return row && !row->is_open;
}

}  // namespace reeve::runtime
