#include <algorithm>
#include <map>
#include <ranges>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/isolation_steps.h"
#include "store/executions.h"

// Cleanup after a node, an execution or another Reeve instance has ended (ISO-1, ISO-4).
namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using git::Repository;
using model::PatchState;
using store::WorktreeRow;

namespace {

// Also true for an execution that no longer exists.
bool is_over(ledger::Transaction& transaction, base::ExecutionId root) {
  try {
    return model::is_over(ledger::find_root(transaction, root).status);
  } catch (const Error& error) {
    if (error.code() != "execution.not_found") throw;
    return true;
  }
}

bool is_cancelled(const model::Execution& execution, const model::Patch& patch) {
  return std::ranges::any_of(execution.nodes, [&](const model::NodeExecution& node) {
    return node.node_id == patch.node_id && node.iteration == patch.iteration &&
           node.status == model::NodeStatus::cancelled;
  });
}

}  // namespace

void IsolationSteps::withdraw(const IsolationSettings& settings, const NodeAttemptId& place,
                              const std::string& reason) {
  Site site = open_site(settings, place.root);
  reject(site, place, PatchState::quarantined, reason);
  const auto stored = find_patch(place);
  if (stored && waits_on_branch(stored->patch)) take_back(site, stored->patch, reason);
}

void IsolationSteps::take_back(Site& site, const model::Patch& patch, const std::string& reason) {
  const PatchState to = can_move(patch.state, PatchState::rejected) ? PatchState::rejected : PatchState::dropped;
  const auto in_the_way = take_out(site, patch, {.to = to, .reason = reason});
  if (in_the_way.empty()) return;
  const std::string why =
      fmt::format("{} was cancelled, but its change stays on the branch: later changes build on it ({})",
                  base::quoted(patch.node_id), list_some(in_the_way));
  if (!patch.history.empty() && patch.history.back().reason == why) return;
  call([&](ledger::Transaction& transaction) { ledger::note_patch(transaction, patch.patch_id, why); });
  options_.log_warning(fmt::format("{}: {}", patch.patch_id.text(), why));
}

void IsolationSteps::take_back_cancelled(Site& site) {
  const base::ExecutionId root = site.root();
  const auto cancelled = in_store([root](store::Session& session) {
    std::vector<model::Patch> found;
    std::map<base::ExecutionId, std::optional<model::Execution>> executions;
    for (store::PatchRow& row : store::find_patches(session, root)) {
      if (!waits_on_branch(row.patch)) continue;
      const auto [at, is_new] = executions.try_emplace(row.patch.execution_id);
      if (is_new) at->second = store::find_execution(session, at->first, store::NodeDetail::brief);
      if (at->second && is_cancelled(*at->second, row.patch)) found.push_back(std::move(row.patch));
    }
    return found;
  });
  // Newest first, because it may build on older ones.
  for (const model::Patch& patch : std::views::reverse(cancelled)) take_back(site, patch, "its node was cancelled");
}

void IsolationSteps::quietly(const std::string& what, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    // The outcome is unknown, so the caller must repeat the operation.
    if (error.code().starts_with("store.")) throw;
    options_.log_warning(fmt::format("{}: {}", what, error.message()));
  } catch (const fs::filesystem_error& error) {
    options_.log_warning(fmt::format("{}: {}", what, error.what()));
  }
}

void IsolationSteps::release_quietly(Site& site, const NodeAttemptId& place) {
  quietly("cannot clean up a worktree of " + site.root().text(), [&] { release(site, place); });
}

// ISO-4: their contents are kept under a ref that `git for-each-ref refs/reeve/left` lists.
void IsolationSteps::sweep_orphans(Repository& repository) {
  quietly("cannot remove worktrees left by another Reeve instance", [&] {
    for (const Repository::Worktree& orphan : repository.list_orphans()) {
      const std::string name = orphan.folder.filename().string();
      if (orphan.is_there && orphan.is_ready && !orphan.head.empty()) {
        const auto rest = repository.snapshot(orphan.folder, orphan.head, name + ": left by another Reeve");
        if (rest) repository.set_ref(fmt::format("refs/reeve/left/{}-{}", name, rest->substr(0, 12)), *rest, {});
      }
      repository.remove_worktree(orphan.folder);
    }
  });
}

void IsolationSteps::remove_worktrees(Site& site) {
  const base::ExecutionId root = site.root();
  for (const WorktreeRow& row : list_rows(root)) {
    if (!row.holder) continue;
    const NodeAttemptId held{
        root, row.holder->execution, row.holder->node_id, row.holder->iteration, row.holder->attempt, std::nullopt};
    reject(site, held, PatchState::quarantined, "the execution ended before the task did");
  }
  for (WorktreeRow& row : list_rows(root)) {
    end_setup_in(worktree_folder(root, row.name));
    keep_rest(site, row);
    options_.crash_point("isolation.before_remove");
    site.repository.remove_worktree(folder_of(site, row.name));
    forget_commit(site, kept_ref(root, "worktree/" + worktree_folder(root, row.name)));
    in_store([&](store::Session& session) { store::delete_worktree(session, root, options_.host, row.name); });
    options_.crash_point("isolation.after_remove");
  }
  const std::string prefix = root.text() + ".";
  for (const Repository::Worktree& left : site.repository.list_worktrees()) {
    const std::string name = left.folder.filename().string();
    const bool is_its = left.lock_reason == lock_reason(root) && name.starts_with(prefix) && is_throwaway(name);
    if (!is_its) continue;
    end_setup_in(name);
    site.repository.remove_worktree(left.folder);
  }
}

void IsolationSteps::close(base::ExecutionId root) {
  if (is_guest(root)) return close_guest(root);
  auto site = find_site(root);
  if (!site) return;
  remove_worktrees(*site);
  quietly("cannot update the branch of " + root.text(), [&] {
    take_back_cancelled(*site);
    if (site->repository.find_ref(branch_ref(root))) settle_branch(*site);
  });
  const auto head = site->repository.head();
  const auto is_in = [&](const std::string& commit) {
    try {
      return head && !commit.empty() && site->repository.is_ancestor(commit, *head);
    } catch (const Error&) {
      // The commit may have been pruned.
      return false;
    }
  };
  const auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  for (const store::PatchRow& row : patches) {
    // In the checkout either as the original commit or as the commit made when it was applied.
    const bool is_there = row.patch.state == PatchState::committed &&
                          (is_in(row.patch.commit) || is_in(row.patch.applied_commit.value_or("")));
    if (is_there || is_final(row.patch.state)) forget_commit(*site, patch_ref(row.patch));
  }
  const bool is_in_checkout = head && site->repository.is_ancestor(site->branch.tip, *head);
  if (is_in_checkout || site->branch.tip == site->branch.base_commit) {
    forget_commit(*site, branch_ref(root));
    if (site->branch.remote) unpublish(*site);
  }
  options_.crash_point("isolation.before_closed");
  in_store([root](store::Session& session) { store::set_branch_open(session, root, false); });
  secrets_.erase(root);
}

std::vector<base::ExecutionId> IsolationSteps::find_left() {
  return call([&](ledger::Transaction& transaction) {
    std::vector<base::ExecutionId> roots;
    for (const store::BranchRow& row : store::find_open_branches(transaction.session(), options_.host)) {
      if (is_ours(row) && is_over(transaction, row.root)) roots.push_back(row.root);
    }
    return roots;
  });
}

std::optional<model::ExecutionStatus> IsolationSteps::find_status(base::ExecutionId root) {
  return call([root](ledger::Transaction& transaction) -> std::optional<model::ExecutionStatus> {
    try {
      return ledger::find_root(transaction, root).status;
    } catch (const Error& error) {
      if (error.code() != "execution.not_found") throw;
      return std::nullopt;
    }
  });
}

bool IsolationSteps::is_closed(base::ExecutionId root) {
  const auto branch = in_store([root](store::Session& session) { return store::find_branch(session, root); });
  return branch && !branch->is_open;
}

}  // namespace reeve::runtime
