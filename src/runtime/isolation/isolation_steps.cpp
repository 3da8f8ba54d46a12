#include "runtime/isolation/isolation_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using git::Repository;
using model::PatchState;
using store::WorktreeLease;
using store::WorktreeRow;

namespace {

WorktreeLease holder_of(const NodeAttemptId& place) {
  return {place.execution, place.node, place.iteration, place.attempt};
}

std::string describe_change(const NodeAttemptId& place) {
  return fmt::format("{} {}\n\nReeve-Execution: {}\nReeve-Iteration: {}\nReeve-Attempt: {}\n", place.root.text(),
                     base::visible(place.node), place.execution.text(), place.iteration, place.attempt);
}

}  // namespace

Isolation::Survey IsolationSteps::survey(const std::string& project) {
  const auto found = Repository::find(project, options_.scratch);
  repositories_.erase(project);
  if (!found) return {};
  Repository& repository = open_repository(project);
  if (repository.find_ref("refs/heads/reeve")) {
    throw Error("git.branch_in_use",
                "the branch `reeve` prevents execution branches such as `reeve/EX-9`: git cannot store both",
                "rename it: git branch -m reeve NAME");
  }
  const fs::path worktrees = repository.root() / worktrees_folder;
  const auto kind = fs::symlink_status(worktrees).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::directory) {
    throw Error("git.unsafe_folder",
                fmt::format("{} is a link or a file, not a folder", base::quoted(worktrees.string())),
                "remove it: Reeve creates worktrees there");
  }
  sweep_orphans(repository);
  Isolation::Survey survey{.base_commit = repository.get_head(), .dirty = {}};
  const Repository::Status status = repository.status();
  survey.dirty = status.dirty;
  survey.dirty.insert(survey.dirty.end(), status.untracked.begin(), status.untracked.end());
  return survey;
}

std::optional<std::string> IsolationSteps::prepare(const IsolationSettings& settings, const NodeAttemptId& place) {
  const auto begun = begin_prepare(settings, place);
  if (!begun) return std::nullopt;
  if (!begun->setup) return begun->folder;
  set_up_worktree(*begun->setup, [] { return false; });
  return finish_prepare(settings, place);
}

std::optional<IsolationSteps::Begun> IsolationSteps::begin_prepare(const IsolationSettings& settings,
                                                                   const NodeAttemptId& place) {
  Site site = open_site(settings, place.root);
  // Fails before the task does any work, and lets other hosts continue from this state.
  if (site.branch.remote) publish(site, site.branch.tip);
  evict(site, place);
  auto row = find_held(site, place);
  if (row && is_there(site, *row)) return Begun{.folder = task_folder(site, row->name), .setup = {}};
  if (row) {
    row->is_ready = false;
  } else {
    row = choose_worktree(site, place);
  }
  if (!row) return std::nullopt;
  Begun begun;
  const bool needs_setup = hand_out(settings, site, *row, holder_of(place));
  if (needs_setup) begun.setup = plan_setup(settings, site, row->name);
  begun.folder = task_folder(site, row->name);
  return begun;
}

std::string IsolationSteps::finish_prepare(const IsolationSettings& settings, const NodeAttemptId& place) {
  Site site = open_site(settings, place.root);
  auto row = find_held(site, place);
  if (!row) {
    throw Error("git.worktree_gone",
                fmt::format("the worktree of {} was released while it was being set up", base::quoted(place.node)),
                fmt::format("`reeve flow retry {}` creates another", place.root.text()));
  }
  if (!row->is_ready) make_ready(site, *row);
  return task_folder(site, row->name);
}

// An earlier attempt of the same node has ended in any case, so it loses its worktree.
void IsolationSteps::evict(Site& site, const NodeAttemptId& place) {
  for (const WorktreeRow& row : list_rows(site.root())) {
    const bool is_same = row.holder && row.holder->execution == place.execution && row.holder->node_id == place.node;
    if (!is_same) continue;
    NodeAttemptId older = place;
    older.iteration = row.holder->iteration;
    older.attempt = row.holder->attempt;
    const bool is_older = std::pair(older.iteration, older.attempt) < std::pair(place.iteration, place.attempt);
    if (is_older) reject(site, older, PatchState::quarantined, "superseded by another attempt");
  }
}

Isolation::Collected IsolationSteps::collect(const IsolationSettings& settings, const NodeAttemptId& place) {
  Site site = open_site(settings, place.root);
  const auto row = find_held(site, place);
  const bool is_gone = row && row->is_ready && !is_there(site, *row) && !find_patch(place);
  if (is_gone) {
    throw Error("git.worktree_gone",
                fmt::format("the worktree {} was removed or replaced by a link: the changes of {} there are unknown",
                            base::quoted(folder_of(site, row->name).string()), base::quoted(place.node)),
                fmt::format("make the tool leave its folder in place, then `reeve flow retry {}`", place.root.text()));
  }
  Isolation::Collected collected = collect(site, place);
  collected.left_out = find_left_out(site, place, collected);
  if (!collected.commit || !row) return collected;
  const auto moved = site.repository.list_moved_submodules(row->base_commit, *collected.commit);
  if (moved.empty()) return collected;
  throw Error("git.submodule_changed",
              fmt::format("{} moved submodules to commits that this repository does not contain: {}",
                          base::quoted(place.node), list_some(moved)),
              "push the commits made in the submodule, and have a task set the submodule's commit explicitly");
}

// Files changed in the worktree but not contained in its patch.
std::vector<std::string> IsolationSteps::find_left_out(Site& site, const NodeAttemptId& place,
                                                       const Isolation::Collected& collected) {
  const auto row = find_held(site, place);
  const bool has_setup = row && row->start_commit != row->base_commit;
  if (!has_setup || row->kept_commit == row->start_commit) return {};
  std::vector<std::string> left_out = site.repository.list_changed(row->start_commit, row->kept_commit);
  std::erase_if(left_out, [&](const std::string& path) {
    return std::ranges::any_of(collected.files, [&](const model::PatchFile& file) { return file.path == path; });
  });
  return left_out;
}

Isolation::Collected IsolationSteps::collect(Site& site, const NodeAttemptId& place) {
  auto row = find_held(site, place);
  const auto stored = find_patch(place);
  const auto tell = [](const model::Patch& patch) {
    if (patch.commit == patch.base_commit) return Isolation::Collected{};
    return Isolation::Collected{.patch = patch.patch_id, .commit = patch.commit, .files = patch.files, .left_out = {}};
  };
  const bool is_decided = stored && stored->patch.state != PatchState::created;
  const bool may_change = row && !is_decided && is_there(site, *row);
  if (!may_change) return stored ? tell(stored->patch) : Isolation::Collected{};
  const fs::path folder = folder_of(site, row->name);
  const std::string message = describe_change(place);
  const bool has_changed = site.repository.snapshot(folder, row->kept_commit, message).has_value();
  if (!has_changed && stored) {
    keep_commit(site, patch_ref(stored->patch), stored->patch.commit);
    return tell(stored->patch);
  }
  // One commit for all changes, however many rounds there were.
  const auto raw = site.repository.snapshot(folder, row->start_commit, message);
  options_.crash_point("isolation.after_snapshot");
  if (!raw && !stored) return {};
  row->kept_commit = raw.value_or(row->start_commit);
  keep_commit(site, kept_ref(site.root(), "worktree/" + worktree_folder(site.root(), row->name)), row->kept_commit);
  const model::Patch made = make_patch(site, place, *row, raw);
  const base::PatchId id = keep_patch(site, made, *row);
  return tell(call([id](ledger::Transaction& transaction) { return ledger::get_patch(transaction, id); }));
}

model::Patch IsolationSteps::make_patch(Site& site, const NodeAttemptId& place, const WorktreeRow& row,
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
    const std::string message = describe_change(place);
    const auto own = site.repository.revert(*raw, row.start_commit, row.base_commit, message);
    patch.commit = own.commit ? *own.commit : site.repository.carry(row.start_commit, *raw, row.base_commit, message);
  }
  return patch;
}

base::PatchId IsolationSteps::keep_patch(Site& site, model::Patch patch, const WorktreeRow& row,
                                         const std::optional<ledger::PatchMove>& then) {
  auto diff = site.repository.diff(patch.base_commit, patch.commit);
  patch.files = std::move(diff.files);
  patch.diff = hide_secrets(site.root(), diff.text);
  if (diff.is_cut) patch.diff += "\n(truncated: `git show` has the rest)\n";
  patch.patch_id = call([&](ledger::Transaction& transaction) {
    store::write_worktree(transaction.session(), site.root(), options_.host, row);
    const base::PatchId id = ledger::create_patch(transaction, patch);
    if (then) ledger::move_patch(transaction, id, *then);
    return id;
  });
  options_.crash_point("isolation.after_patch");
  keep_commit(site, patch_ref(patch), patch.commit);
  return patch.patch_id;
}

Isolation::Accepted IsolationSteps::accept(const IsolationSettings& settings, const NodeAttemptId& place) {
  Site site = open_site(settings, place.root);
  const auto stored = find_patch(place);
  if (!stored) {
    release_quietly(site, place);
    return {};
  }
  const model::Patch& patch = stored->patch;
  Isolation::Accepted accepted;
  if (patch.state == PatchState::conflicted) {
    accepted = {true, {patch.history.back().reason.value_or("")}};
  } else if (patch.state == PatchState::created && patch.commit == patch.base_commit) {
    move(patch.patch_id, {.to = PatchState::dropped, .reason = "no changes are left"});
  } else if (patch.state == PatchState::created) {
    const auto merged = site.repository.merge(
        site.branch.tip, patch.commit, fmt::format("{} {}: merged", place.root.text(), base::visible(place.node)));
    accepted = {!merged.commit, merged.conflicts};
    if (merged.commit) {
      check_branch_free(site, site.repository.find_ref(branch_ref(site.root())));
      options_.crash_point("isolation.after_merge");
      // ISO-1: pushed before the node counts as done, so that any host can continue from there.
      if (site.branch.remote) publish(site, *merged.commit);
      options_.crash_point("isolation.after_published");
      call([&](ledger::Transaction& transaction) {
        ledger::move_patch(transaction, patch.patch_id, {.to = PatchState::validated, .branch_commit = merged.commit});
        store::move_branch(transaction.session(), site.branch, *merged.commit);
      });
      site.branch.tip = *merged.commit;
      options_.crash_point("isolation.after_validated");
      quietly("cannot update the branch of " + site.root().text() + " yet", [&] { settle_branch(site); });
    } else {
      move(patch.patch_id, {.to = PatchState::conflicted,
                            .reason = fmt::format("conflicts with other changes in {}", list_some(merged.conflicts))});
    }
  }
  options_.crash_point("isolation.before_release");
  release_quietly(site, place);
  return accepted;
}

void IsolationSteps::reject(const IsolationSettings& settings, const NodeAttemptId& place, PatchState state,
                            const std::string& reason) {
  Site site = open_site(settings, place.root);
  reject(site, place, state, reason);
}

void IsolationSteps::reject(Site& site, const NodeAttemptId& place, PatchState state, const std::string& reason) {
  collect(site, place);
  const auto stored = find_patch(place);
  if (stored && stored->patch.state == PatchState::created) {
    const bool is_empty = stored->patch.commit == stored->patch.base_commit;
    move(stored->patch.patch_id, {.to = is_empty ? PatchState::dropped : state, .reason = reason});
  }
  options_.crash_point("isolation.after_rejected");
  release(site, place);
}

std::string IsolationSteps::checkout(const IsolationSettings& settings, const NodeAttemptId& place,
                                     const std::optional<std::string>& commit, const std::string& name) {
  const Begun begun = begin_checkout(settings, place, commit, name);
  if (begun.setup) set_up_worktree(*begun.setup, [] { return false; });
  return begun.folder;
}

IsolationSteps::Begun IsolationSteps::begin_checkout(const IsolationSettings& settings, const NodeAttemptId& place,
                                                     const std::optional<std::string>& commit,
                                                     const std::string& name) {
  Site site = open_site(settings, place.root);
  if (site.branch.remote) publish(site, site.branch.tip);
  return make_checkout(
      settings, site,
      fmt::format("{}-{}-{}-{}-{}", place.execution.text(), place.node, place.iteration, place.attempt, name),
      commit.value_or(site.branch.tip));
}

// The execution may have ended and been closed. It is reopened while it has a checkout, so that a daemon that dies now
// leaves a record of it.
IsolationSteps::Begun IsolationSteps::begin_merge_checkout(const IsolationSettings& settings,
                                                           const Isolation::GateCheck& check, const std::string& gate) {
  auto site = find_site(check.root);
  if (!site) throw Error("patch.no_repository", fmt::format("the repository of {} is not known", check.root.text()));
  if (!site->branch.is_open) {
    in_store([&](store::Session& session) { store::set_branch_open(session, check.root, true); });
  }
  return make_checkout(settings, *site, fmt::format("{}-merge-{}", check.name, gate), check.commit);
}

IsolationSteps::Begun IsolationSteps::make_checkout(const IsolationSettings& settings, Site& site,
                                                    const std::string& words, const std::string& commit) {
  const std::string own = throwaway_name(words);
  make_worktree(site, own, commit);
  Begun begun{.folder = task_folder(site, own), .setup = {}, .commit = commit, .tree = site.repository.tree_of(commit)};
  if (needs_setup(settings)) begun.setup = plan_setup(settings, site, own);
  return begun;
}

// In the same folder, because the restarted run uses that path.
IsolationSteps::Begun IsolationSteps::begin_renewal(const IsolationSettings& settings, base::ExecutionId root,
                                                    const Isolation::Checkout& checkout) {
  auto site = find_site(root);
  if (!site) throw Error("patch.no_repository", fmt::format("the repository of {} is not known", root.text()));
  const fs::path worktrees = site->repository.root() / worktrees_folder;
  const std::string name = fs::path(checkout.folder).lexically_relative(worktrees).begin()->string();
  const std::string prefix = worktree_folder(root, "");
  const bool is_its = is_throwaway(name) && name.starts_with(prefix + ".");
  if (!is_its) {
    throw Error("git.unsafe_folder",
                fmt::format("{} is not a checkout of {}", base::quoted(checkout.folder), root.text()));
  }
  const std::string own = name.substr(prefix.size() + 1);
  make_worktree(*site, own, checkout.commit);
  Begun begun{.folder = task_folder(*site, own), .setup = {}, .commit = checkout.commit, .tree = checkout.tree};
  if (needs_setup(settings)) begun.setup = plan_setup(settings, *site, own);
  return begun;
}

void IsolationSteps::set_back(const IsolationSettings& settings, const NodeAttemptId& place) {
  Site site = open_site(settings, place.root);
  auto row = find_held(site, place);
  if (!row) return;
  if (row->is_ready) keep_half(site, place, *row);
  options_.crash_point("isolation.after_half_kept");
  // Reset to what the run was given: a gate may have sent earlier collected changes back.
  site.repository.reset_files(folder_of(site, row->name), row->kept_commit, row->base_commit);
  row->is_ready = true;
  options_.crash_point("isolation.before_ready");
  write_row(site.root(), *row);
}

// Marks the worktree as not ready, so that a crash does not make the same partial changes be saved twice.
void IsolationSteps::keep_half(Site& site, const NodeAttemptId& place, WorktreeRow& row) {
  const fs::path folder = folder_of(site, row.name);
  const std::string message = describe_change(place);
  const bool has_changed = site.repository.snapshot(folder, row.kept_commit, message).has_value();
  const auto raw = has_changed ? site.repository.snapshot(folder, row.start_commit, message) : std::nullopt;
  row.is_ready = false;
  if (!raw) return write_row(site.root(), row);
  // Stored under a separate node name, because the next attempt uses the node's own place.
  NodeAttemptId half = place;
  half.node += " (interrupted)";
  half.attempt = count_patches(site.root(), half.node) + 1;
  const model::Patch patch = make_patch(site, half, row, raw);
  if (patch.commit == patch.base_commit) return write_row(site.root(), row);
  keep_patch(site, patch, row,
             ledger::PatchMove{.to = PatchState::quarantined,
                               .reason = fmt::format("{} was interrupted; it restarts without this change",
                                                     base::quoted(place.node))});
}

int IsolationSteps::count_patches(base::ExecutionId root, const std::string& node) {
  const auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  return static_cast<int>(
      std::ranges::count_if(patches, [&](const store::PatchRow& row) { return row.patch.node_id == node; }));
}

void IsolationSteps::discard(const IsolationSettings& settings, const std::string& folder) {
  Repository& repository = open_repository(settings.project);
  const fs::path worktrees = repository.root() / worktrees_folder;
  const fs::path name = *fs::path(folder).lexically_relative(worktrees).begin();
  if (!is_throwaway(name.string())) return;
  end_setup_in(name.string());
  repository.remove_worktree(worktrees / name);
}

}  // namespace reeve::runtime
