#include "runtime/isolation/node_changes.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/kept_commits.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using model::PatchState;
using store::WorktreeRow;

namespace {

std::string describe_change(const NodeAttemptId& place) {
  return fmt::format("{} {}\n\nReeve-Execution: {}\nReeve-Iteration: {}\nReeve-Attempt: {}\n", place.root.text(),
                     base::visible(place.node), place.execution.text(), place.iteration, place.attempt);
}

Isolation::Collected make_collected(const model::Patch& patch) {
  if (patch.commit == patch.base_commit) return {};
  return {.patch = patch.patch_id, .commit = patch.commit, .files = patch.files, .left_out = {}};
}

}  // namespace

std::optional<PreparedFolder> NodeChanges::begin_prepare(const IsolationSettings& settings,
                                                         const NodeAttemptId& place) {
  ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  // Fails before the task does any work, and lets other hosts continue from this state.
  if (branch.row().remote) branch.publish(branch.row().tip);
  reject_older_attempts(branch, place);
  return worktrees_.lease(settings, branch, place);
}

std::string NodeChanges::finish_prepare(const IsolationSettings& settings, const NodeAttemptId& place) {
  return worktrees_.finish_setup(ExecutionBranch::open(context_, settings, place.root), place);
}

// An earlier attempt of the same node has ended in any case, so it loses its worktree.
void NodeChanges::reject_older_attempts(const ExecutionBranch& branch, const NodeAttemptId& place) {
  for (const WorktreeRow& row : worktrees_.list(branch.root())) {
    const bool is_same = row.holder && row.holder->execution == place.execution && row.holder->node_id == place.node;
    if (!is_same) continue;
    NodeAttemptId older = place;
    older.iteration = row.holder->iteration;
    older.attempt = row.holder->attempt;
    const bool is_older = std::pair(older.iteration, older.attempt) < std::pair(place.iteration, place.attempt);
    if (is_older) reject(branch, older, PatchState::quarantined, "superseded by another attempt");
  }
}

Isolation::Collected NodeChanges::collect(const IsolationSettings& settings, const NodeAttemptId& place) {
  const ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  const auto row = worktrees_.find_leased(branch, place);
  const bool is_gone = row && row->is_ready && !WorktreePool::exists(branch, *row) && !patches_.find(place);
  if (is_gone) {
    throw Error(ErrorCode::git_worktree_gone,
                fmt::format("the worktree {} was removed or replaced by a link: the changes of {} there are unknown",
                            base::quoted(worktree_path(branch, row->name).string()), base::quoted(place.node)),
                fmt::format("make the tool leave its folder in place, then `reeve flow retry {}`", place.root.text()));
  }
  Isolation::Collected collected = collect(branch, place);
  collected.left_out = find_left_out(branch, place, collected);
  if (!collected.commit || !row) return collected;
  const auto moved = branch.repository().list_moved_submodules(row->base_commit, *collected.commit);
  if (moved.empty()) return collected;
  throw Error(ErrorCode::git_submodule_changed,
              fmt::format("{} moved submodules to commits that this repository does not contain: {}",
                          base::quoted(place.node), list_some(moved)),
              "push the commits made in the submodule, and have a task set the submodule's commit explicitly");
}

Isolation::Collected NodeChanges::collect(const ExecutionBranch& branch, const NodeAttemptId& place) {
  git::Repository& repository = branch.repository();
  auto row = worktrees_.find_leased(branch, place);
  const auto stored = patches_.find(place);
  const bool is_decided = stored && stored->patch.state != PatchState::created;
  const bool may_change = row && !is_decided && WorktreePool::exists(branch, *row);
  if (!may_change) return stored ? make_collected(stored->patch) : Isolation::Collected{};
  const fs::path folder = worktree_path(branch, row->name);
  const std::string message = describe_change(place);
  const bool has_changed = repository.snapshot(folder, row->kept_commit, message).has_value();
  if (!has_changed && stored) {
    keep_commit(repository, patch_ref(stored->patch), stored->patch.commit);
    return make_collected(stored->patch);
  }
  // One commit for all changes, however many rounds there were.
  const auto raw = repository.snapshot(folder, row->start_commit, message);
  context_.crash_point("isolation.after_snapshot");
  if (!raw && !stored) return {};
  row->kept_commit = raw.value_or(row->start_commit);
  keep_commit(repository, kept_worktree_ref(branch.root(), row->name), row->kept_commit);
  const model::Patch made = make_patch(branch, place, *row, raw);
  return make_collected(patches_.get(patches_.save(branch, made, *row)));
}

model::Patch NodeChanges::make_patch(const ExecutionBranch& branch, const NodeAttemptId& place, const WorktreeRow& row,
                                     const std::optional<std::string>& raw) {
  model::Patch patch;
  patch.execution_id = place.execution;
  patch.root_id = place.root;
  patch.node_id = place.node;
  patch.iteration = place.iteration;
  patch.attempt = place.attempt;
  patch.base_commit = row.base_commit;
  patch.commit = raw.value_or(row.base_commit);
  if (raw && row.start_commit != row.base_commit) {
    // Files created by the setup are not part of the patch. If the task changed such a file and the changes cannot be
    // separated, the file is left out as well, because a copied file may contain secrets.
    git::Repository& repository = branch.repository();
    const std::string message = describe_change(place);
    const auto own = repository.revert(*raw, row.start_commit, row.base_commit, message);
    patch.commit = own.commit ? *own.commit : repository.carry(row.start_commit, *raw, row.base_commit, message);
  }
  return patch;
}

// Files changed in the worktree but not contained in its patch.
std::vector<std::string> NodeChanges::find_left_out(const ExecutionBranch& branch, const NodeAttemptId& place,
                                                    const Isolation::Collected& collected) {
  const auto row = worktrees_.find_leased(branch, place);
  const bool has_setup = row && row->start_commit != row->base_commit;
  if (!has_setup || row->kept_commit == row->start_commit) return {};
  std::vector<std::string> left_out = branch.repository().list_changed(row->start_commit, row->kept_commit);
  std::erase_if(left_out, [&](const std::string& path) {
    return std::ranges::any_of(collected.files, [&](const model::PatchFile& file) { return file.path == path; });
  });
  return left_out;
}

void NodeChanges::set_back(const IsolationSettings& settings, const NodeAttemptId& place) {
  const ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  auto row = worktrees_.find_leased(branch, place);
  if (!row) return;
  if (row->is_ready) save_interrupted(branch, place, *row);
  context_.crash_point("isolation.after_half_kept");
  // Reset to what the run was given: a gate may have sent earlier collected changes back.
  branch.repository().reset_files(worktree_path(branch, row->name), row->kept_commit, row->base_commit);
  row->is_ready = true;
  context_.crash_point("isolation.before_ready");
  worktrees_.write(branch.root(), *row);
}

// Marks the worktree as not ready, so that a crash does not make the same partial changes be saved twice.
void NodeChanges::save_interrupted(const ExecutionBranch& branch, const NodeAttemptId& place, WorktreeRow& row) {
  const fs::path folder = worktree_path(branch, row.name);
  const std::string message = describe_change(place);
  const bool has_changed = branch.repository().snapshot(folder, row.kept_commit, message).has_value();
  const auto raw = has_changed ? branch.repository().snapshot(folder, row.start_commit, message) : std::nullopt;
  row.is_ready = false;
  if (!raw) return worktrees_.write(branch.root(), row);
  // Stored under a separate node name, because the next attempt uses the node's own place.
  NodeAttemptId interrupted = place;
  interrupted.node += " (interrupted)";
  interrupted.attempt = patches_.count(branch.root(), interrupted.node) + 1;
  const model::Patch patch = make_patch(branch, interrupted, row, raw);
  if (patch.commit == patch.base_commit) return worktrees_.write(branch.root(), row);
  patches_.save(branch, patch, row,
                ledger::PatchMove{.to = PatchState::quarantined,
                                  .reason = fmt::format("{} was interrupted; it restarts without this change",
                                                        base::quoted(place.node))});
}

Isolation::Accepted NodeChanges::accept(const IsolationSettings& settings, const NodeAttemptId& place) {
  ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  const auto stored = patches_.find(place);
  if (!stored) {
    release_or_log(branch, place);
    return {};
  }
  const model::Patch& patch = stored->patch;
  Isolation::Accepted accepted;
  if (patch.state == PatchState::conflicted) {
    accepted = {true, {patch.history.back().reason.value_or("")}};
  } else if (patch.state == PatchState::created && patch.commit == patch.base_commit) {
    patches_.move(patch.patch_id, {.to = PatchState::dropped, .reason = "no changes are left"});
  } else if (patch.state == PatchState::created) {
    accepted = merge(branch, patch);
  }
  context_.crash_point("isolation.before_release");
  release_or_log(branch, place);
  return accepted;
}

Isolation::Accepted NodeChanges::merge(ExecutionBranch& branch, const model::Patch& patch) {
  const auto merged = branch.repository().merge(
      branch.row().tip, patch.commit, fmt::format("{} {}: merged", branch.root().text(), base::visible(patch.node_id)));
  if (!merged.commit) {
    patches_.move(patch.patch_id,
                  {.to = PatchState::conflicted,
                   .reason = fmt::format("conflicts with other changes in {}", list_some(merged.conflicts))});
    return {true, merged.conflicts};
  }
  branch.check_free();
  context_.crash_point("isolation.after_merge");
  // ISO-1: pushed before the node counts as done, so that any host can continue from there.
  if (branch.row().remote) branch.publish(*merged.commit);
  context_.crash_point("isolation.after_published");
  context_.call([&](ledger::Transaction& transaction) {
    ledger::move_patch(transaction, patch.patch_id, {.to = PatchState::validated, .branch_commit = merged.commit});
    branch.write_tip(transaction.session(), *merged.commit);
  });
  branch.set_tip(*merged.commit);
  context_.crash_point("isolation.after_validated");
  context_.try_git("cannot update the branch of " + branch.root().text() + " yet", [&] { branch.restore_ref(); });
  return {false, merged.conflicts};
}

void NodeChanges::release_or_log(const ExecutionBranch& branch, const NodeAttemptId& place) {
  context_.try_git("cannot clean up a worktree of " + branch.root().text(), [&] { worktrees_.release(branch, place); });
}

void NodeChanges::reject(const IsolationSettings& settings, const NodeAttemptId& place, PatchState state,
                         const std::string& reason) {
  reject(ExecutionBranch::open(context_, settings, place.root), place, state, reason);
}

void NodeChanges::reject(const ExecutionBranch& branch, const NodeAttemptId& place, PatchState state,
                         const std::string& reason) {
  collect(branch, place);
  const auto stored = patches_.find(place);
  if (stored && stored->patch.state == PatchState::created) {
    const bool is_empty = stored->patch.commit == stored->patch.base_commit;
    patches_.move(stored->patch.patch_id, {.to = is_empty ? PatchState::dropped : state, .reason = reason});
  }
  context_.crash_point("isolation.after_rejected");
  worktrees_.release(branch, place);
}

void NodeChanges::withdraw(const IsolationSettings& settings, const NodeAttemptId& place, const std::string& reason) {
  ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  reject(branch, place, PatchState::quarantined, reason);
  const auto stored = patches_.find(place);
  if (stored && waits_on_branch(stored->patch)) patches_.withdraw(branch, stored->patch, reason);
}

}  // namespace reeve::runtime
