#include "runtime/isolation/worktree_pool.h"

#include <filesystem>
#include <map>
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

store::WorktreeLease lease_of(const NodeAttemptId& place) {
  return {place.execution, place.node, place.iteration, place.attempt};
}

}  // namespace

std::vector<WorktreeRow> WorktreePool::list(base::ExecutionId root) {
  return context_.in_store(
      [&](store::Session& session) { return store::find_worktrees(session, root, context_.host); });
}

void WorktreePool::write(base::ExecutionId root, const WorktreeRow& row) {
  context_.in_store([&](store::Session& session) { store::write_worktree(session, root, context_.host, row); });
}

std::optional<WorktreeRow> WorktreePool::find_leased(const ExecutionBranch& branch, const NodeAttemptId& place) {
  for (WorktreeRow& row : list(branch.root())) {
    if (row.holder == lease_of(place)) return std::move(row);
  }
  return std::nullopt;
}

bool WorktreePool::exists(const ExecutionBranch& branch, const WorktreeRow& row) {
  return row.is_ready && branch.repository().has_worktree(worktree_path(branch, row.name));
}

std::optional<WorktreeRow> WorktreePool::find_free(base::ExecutionId root, const NodeAttemptId& place) {
  std::map<std::string, WorktreeRow> rows;
  for (WorktreeRow& row : list(root)) rows.emplace(row.name, row);
  const auto find = [&](const std::string& name) {
    const auto found = rows.find(name);
    return found == rows.end() ? WorktreeRow{.name = name} : found->second;
  };
  if (place.worktree_id) {
    WorktreeRow row = find(shared_name(*place.worktree_id));
    return row.holder ? std::nullopt : std::optional(std::move(row));
  }
  // The execution's own worktree, otherwise the first free one: as many are made as tasks work at once.
  for (int number = 1;; ++number) {
    WorktreeRow row = find(number == 1 ? std::string() : std::to_string(number));
    if (!row.holder) return row;
  }
}

std::optional<PreparedFolder> WorktreePool::lease(const IsolationSettings& settings, const ExecutionBranch& branch,
                                                  const NodeAttemptId& place) {
  auto row = find_leased(branch, place);
  if (row && exists(branch, *row)) return PreparedFolder{.folder = task_folder(branch, row->name), .setup = {}};
  if (row) {
    row->is_ready = false;
  } else {
    row = find_free(branch.root(), place);
  }
  if (!row) return std::nullopt;
  PreparedFolder prepared;
  const bool needs_setup = lease_row(settings, branch, *row, lease_of(place));
  if (needs_setup) prepared.setup = plan_setup(context_, settings, branch, row->name);
  prepared.folder = task_folder(branch, row->name);
  return prepared;
}

bool WorktreePool::lease_row(const IsolationSettings& settings, const ExecutionBranch& branch, WorktreeRow& row,
                             const store::WorktreeLease& holder) {
  const std::string& tip = branch.row().tip;
  save_leftovers(branch, row);
  const bool was_ready = exists(branch, row);
  const bool leaves_nothing = row.start_commit == row.base_commit;
  const bool is_clean = was_ready && leaves_nothing && row.base_commit == tip && row.kept_commit == tip;
  row.holder = holder;
  row.is_ready = false;
  row.base_commit = row.start_commit = row.kept_commit = tip;
  write(branch.root(), row);
  context_.crash_point("isolation.after_claim");
  if (!was_ready) {
    make_worktree(context_, branch, row.name, tip);
  } else if (!is_clean) {
    branch.repository().reset(worktree_path(branch, row.name), tip);
  }
  const bool is_set_up = was_ready && leaves_nothing;
  if (needs_setup(settings) && !is_set_up) return true;
  row.is_ready = true;
  context_.crash_point("isolation.before_ready");
  write(branch.root(), row);
  return false;
}

std::string WorktreePool::finish_setup(const ExecutionBranch& branch, const NodeAttemptId& place) {
  auto row = find_leased(branch, place);
  if (!row) {
    throw Error(ErrorCode::git_worktree_gone,
                fmt::format("the worktree of {} was released while it was being set up", base::quoted(place.node)),
                fmt::format("`reeve flow retry {}` creates another", place.root.text()));
  }
  if (row->is_ready) return task_folder(branch, row->name);
  // Records the setup's changes, to separate them from the task's. The branch may have moved since: the worktree's own
  // base commit counts.
  const auto start = branch.repository().snapshot(worktree_path(branch, row->name), row->base_commit,
                                                  branch.root().text() + ": worktree setup");
  if (start) {
    row->start_commit = row->kept_commit = *start;
    keep_commit(branch.repository(), kept_worktree_ref(branch.root(), row->name), *start);
  }
  row->is_ready = true;
  context_.crash_point("isolation.before_ready");
  write(branch.root(), *row);
  return task_folder(branch, row->name);
}

// ISO-4: changes made after collection are never deleted; they become a patch.
void WorktreePool::save_leftovers(const ExecutionBranch& branch, WorktreeRow& row) {
  if (!exists(branch, row)) return;
  const base::ExecutionId root = branch.root();
  const fs::path folder = worktree_path(branch, row.name);
  const std::string where = (fs::path(worktrees_folder) / worktree_folder(root, row.name)).string();
  const auto rest =
      branch.repository().snapshot(folder, row.kept_commit, fmt::format("{}: left in {}", root.text(), where));
  if (!rest) return;
  model::Patch patch;
  patch.execution_id = patch.root_id = root;
  patch.node_id = where;
  patch.base_commit = row.kept_commit;
  patch.commit = *rest;
  patch.attempt = patches_.count(root, where) + 1;
  row.kept_commit = *rest;
  patches_.save(branch, std::move(patch), row,
                ledger::PatchMove{.to = PatchState::quarantined, .reason = "changed after the task ended"});
}

void WorktreePool::release(const ExecutionBranch& branch, const NodeAttemptId& place) {
  auto row = find_leased(branch, place);
  if (!row) return;
  row->holder.reset();
  write(branch.root(), *row);
  context_.crash_point("isolation.after_release");
  reset(branch, std::move(*row));
}

// Resets the worktree to the branch, unless that would need a new setup.
void WorktreePool::reset(const ExecutionBranch& branch, WorktreeRow row) {
  if (!exists(branch, row)) return;
  save_leftovers(branch, row);
  const std::string& tip = branch.row().tip;
  const bool is_clean = row.base_commit == tip && row.kept_commit == tip;
  if (row.start_commit != row.base_commit || is_clean) return;
  row.is_ready = false;
  write(branch.root(), row);
  context_.crash_point("isolation.before_reset");
  branch.repository().reset(worktree_path(branch, row.name), tip);
  context_.crash_point("isolation.after_reset");
  row.is_ready = true;
  row.base_commit = row.start_commit = row.kept_commit = tip;
  write(branch.root(), row);
  forget_commit(branch.repository(), kept_worktree_ref(branch.root(), row.name));
}

void WorktreePool::remove(const ExecutionBranch& branch, WorktreeRow row) {
  const base::ExecutionId root = branch.root();
  end_setup_in(context_, worktree_folder(root, row.name));
  save_leftovers(branch, row);
  context_.crash_point("isolation.before_remove");
  branch.repository().remove_worktree(worktree_path(branch, row.name));
  forget_commit(branch.repository(), kept_worktree_ref(root, row.name));
  context_.in_store([&](store::Session& session) { store::delete_worktree(session, root, context_.host, row.name); });
  context_.crash_point("isolation.after_remove");
}

}  // namespace reeve::runtime
