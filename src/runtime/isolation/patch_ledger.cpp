#include "runtime/isolation/patch_ledger.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ledger/approvals.h"
#include "ledger/claims.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/kept_commits.h"
#include "store/approvals.h"
#include "store/executions.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using model::Patch;
using model::PatchState;
using store::PatchRow;

namespace {

constexpr std::int64_t max_queued = 10'000;

bool is_cancelled(const model::Execution& execution, const Patch& patch) {
  return std::ranges::any_of(execution.nodes, [&](const model::NodeExecution& node) {
    return node.node_id == patch.node_id && node.iteration == patch.iteration &&
           node.status == model::NodeStatus::cancelled;
  });
}

std::vector<Patch> find_cancelled(store::Session& session, base::ExecutionId root) {
  std::vector<Patch> found;
  std::map<base::ExecutionId, std::optional<model::Execution>> executions;
  for (PatchRow& row : store::find_patches(session, root)) {
    if (!waits_on_branch(row.patch)) continue;
    const auto [at, is_new] = executions.try_emplace(row.patch.execution_id);
    if (is_new) at->second = store::find_execution(session, at->first, store::NodeDetail::brief);
    if (at->second && is_cancelled(*at->second, row.patch)) found.push_back(std::move(row.patch));
  }
  return found;
}

}  // namespace

void throw_wrong_state(const Patch& patch, std::string_view action, std::string fix) {
  throw Error(ErrorCode::patch_state,
              fmt::format("{} is {}: it cannot be {}", patch.patch_id.text(), base::spell(patch.state), action),
              std::move(fix));
}

Patch PatchLedger::get(base::PatchId id) {
  return context_.call([id](Transaction& transaction) { return ledger::get_patch(transaction, id); });
}

std::vector<PatchRow> PatchLedger::list(base::ExecutionId root) {
  return context_.in_store([root](store::Session& session) { return store::find_patches(session, root); });
}

std::optional<PatchRow> PatchLedger::find(const NodeAttemptId& place) {
  return context_.in_store([&](store::Session& session) {
    return store::find_patch(session, {place.root, place.execution, place.node, place.iteration, place.attempt});
  });
}

int PatchLedger::count(base::ExecutionId root, const std::string& node) {
  const auto patches = list(root);
  return static_cast<int>(
      std::ranges::count_if(patches, [&](const PatchRow& row) { return row.patch.node_id == node; }));
}

base::PatchId PatchLedger::save(const ExecutionBranch& branch, Patch patch, const store::WorktreeRow& row,
                                const std::optional<ledger::PatchMove>& then) {
  auto diff = branch.repository().diff(patch.base_commit, patch.commit);
  patch.files = std::move(diff.files);
  patch.diff = context_.secrets.redact(branch.root(), diff.text);
  if (diff.is_cut) patch.diff += "\n(truncated: `git show` has the rest)\n";
  patch.patch_id = context_.call([&](Transaction& transaction) {
    store::write_worktree(transaction.session(), branch.root(), context_.host, row);
    const base::PatchId id = ledger::create_patch(transaction, patch);
    if (then) ledger::move_patch(transaction, id, *then);
    return id;
  });
  context_.crash_point("isolation.after_patch");
  keep_commit(branch.repository(), patch_ref(patch), patch.commit);
  return patch.patch_id;
}

Patch PatchLedger::move(base::PatchId id, const ledger::PatchMove& move) {
  return context_.call([&](Transaction& transaction) { return ledger::move_patch(transaction, id, move); });
}

void PatchLedger::move_all(Transaction& transaction, const std::vector<PatchRow>& patches,
                           const ledger::PatchMove& move) {
  for (const PatchRow& row : patches) {
    const auto now = store::find_patch(transaction.session(), row.patch.patch_id);
    if (now && now->patch.state != move.to) ledger::move_patch(transaction, row.patch.patch_id, move);
  }
}

void PatchLedger::close_idle_question(Transaction& transaction, base::ExecutionId root) {
  const auto patches = store::find_patches(transaction.session(), root);
  if (std::ranges::any_of(patches, [](const PatchRow& row) { return waits_on_branch(row.patch); })) return;
  std::optional<store::ApprovalRow> last;
  transaction.session().query(store::Sql::approval_of_apply, {{"execution", root.number()}},
                              [&](const store::Row& row) { last = store::read_approval(row); });
  const bool is_asked = last && last->approval.status == model::ApprovalStatus::pending;
  if (is_asked) ledger::close_question(transaction, *last, {.reason = "nothing is left to apply"});
  ledger::note_execution(transaction, root, std::nullopt);
}

Patch PatchLedger::drop(base::PatchId id, const std::string& by) {
  const Patch patch = get(id);
  ExecutionBranch branch = ExecutionBranch::get(context_, patch);
  if (patch.state == PatchState::dropped) return patch;
  if (!can_move(patch.state, PatchState::dropped)) {
    throw_wrong_state(patch, "dropped",
                      patch.state == PatchState::rolled_back
                          ? "it has already been rolled back"
                          : "`reeve patch rollback` reverts a patch that is in your checkout");
  }
  const ledger::PatchMove dropped{.to = PatchState::dropped, .reason = "by " + by};
  if (patch.branch_commit) {
    const auto in_the_way = remove_from_branch(branch, patch, dropped);
    if (!in_the_way.empty()) {
      throw Error(ErrorCode::patch_conflicted,
                  fmt::format("later patches build on {}: {}. Nothing was changed.", patch.patch_id.text(),
                              list_all(in_the_way)),
                  "drop the later ones first");
    }
  } else {
    move(patch.patch_id, dropped);
  }
  forget_commit(branch.repository(), patch_ref(patch));
  return get(patch.patch_id);
}

std::vector<std::string> PatchLedger::remove_from_branch(ExecutionBranch& branch, const Patch& patch,
                                                         const ledger::PatchMove& move) {
  const auto without =
      branch.repository().revert(patch.base_commit, patch.commit, branch.row().tip,
                                 fmt::format("{}: without {}", patch.root_id.text(), patch.patch_id.text()));
  if (!without.commit) return without.conflicts;
  branch.check_free();
  context_.call([&](Transaction& transaction) {
    branch.write_tip(transaction.session(), *without.commit);
    ledger::move_patch(transaction, patch.patch_id, move);
    close_idle_question(transaction, branch.root());
  });
  branch.set_tip(*without.commit);
  context_.crash_point("isolation.patch_dropped");
  if (branch.repository().find_ref(branch_ref(branch.root()))) branch.restore_ref();
  if (branch.row().pushed) {
    context_.try_git("cannot remove " + patch.patch_id.text() + " from the remote",
                     [&] { branch.publish(branch.row().tip); });
  }
  return {};
}

void PatchLedger::withdraw(ExecutionBranch& branch, const Patch& patch, const std::string& reason) {
  const PatchState to = can_move(patch.state, PatchState::rejected) ? PatchState::rejected : PatchState::dropped;
  const auto in_the_way = remove_from_branch(branch, patch, {.to = to, .reason = reason});
  if (in_the_way.empty()) return;
  const std::string why =
      fmt::format("{} was cancelled, but its change stays on the branch: later changes build on it ({})",
                  base::quoted(patch.node_id), list_some(in_the_way));
  if (!patch.history.empty() && patch.history.back().reason == why) return;
  context_.call([&](Transaction& transaction) { ledger::note_patch(transaction, patch.patch_id, why); });
  context_.log_warning(fmt::format("{}: {}", patch.patch_id.text(), why));
}

void PatchLedger::withdraw_cancelled(ExecutionBranch& branch) {
  const auto cancelled =
      context_.in_store([&](store::Session& session) { return find_cancelled(session, branch.root()); });
  // Newest first, because it may build on older ones.
  for (const Patch& patch : std::views::reverse(cancelled)) withdraw(branch, patch, "its node was cancelled");
}

std::vector<PatchRow> PatchLedger::find_waiting(base::ExecutionId root) {
  auto patches = list(root);
  std::erase_if(patches, [](const PatchRow& row) { return !waits_on_branch(row.patch); });
  return patches;
}

bool PatchLedger::is_queued(base::ExecutionId root) {
  const auto patches = find_waiting(root);
  return !patches.empty() &&
         std::ranges::all_of(patches, [](const PatchRow& row) { return row.patch.state == PatchState::queued; });
}

std::vector<base::ExecutionId> PatchLedger::find_queued() {
  return context_.in_store([&](store::Session& session) {
    std::set<base::ExecutionId> seen;
    std::vector<base::ExecutionId> roots;
    for (const Patch& patch : store::list_patches(session, {.states = {PatchState::queued}, .most = max_queued})) {
      if (!patch.branch_commit || !seen.insert(patch.root_id).second) continue;
      const auto branch = store::find_branch(session, patch.root_id);
      const bool is_here = branch && context_.handles(*branch);
      const auto all = store::find_patches(session, patch.root_id);
      const bool is_whole = std::ranges::all_of(all, [](const PatchRow& row) {
        return !waits_on_branch(row.patch) || row.patch.state == PatchState::queued;
      });
      if (is_here && is_whole) roots.push_back(patch.root_id);
    }
    return roots;
  });
}

std::vector<base::PatchId> PatchLedger::find_queued_patches() {
  const auto roots = find_queued();
  return context_.in_store([&](store::Session& session) {
    std::vector<base::PatchId> ids;
    for (const Patch& patch : store::list_patches(session, {.states = {PatchState::queued}, .most = max_queued})) {
      const auto branch = store::find_branch(session, patch.root_id);
      const bool is_here = branch && context_.handles(*branch);
      const bool comes_with_others = std::ranges::find(roots, patch.root_id) != roots.end() && patch.branch_commit;
      if (is_here && !comes_with_others) ids.push_back(patch.patch_id);
    }
    return ids;
  });
}

bool PatchLedger::is_of_shared(base::PatchId id) {
  return context_.call([id](Transaction& transaction) {
    const auto branch = store::find_branch(transaction.session(), ledger::get_patch(transaction, id).root_id);
    return branch && branch->remote;
  });
}

}  // namespace reeve::runtime
