#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "os/beneath.h"
#include "os/file.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/isolation_steps.h"
#include "runtime/isolation/worktree_setup.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using git::Repository;
using model::PatchState;
using store::WorktreeRow;

namespace {

fs::path path_in_repository(const Repository& repository, const std::string& project) {
  return fs::canonical(project).lexically_relative(repository.root()).lexically_normal();
}

// ISO-1: the folder of all worktrees, ignored by git.
void make_worktrees_folder(const fs::path& folder) {
  const auto kind = fs::symlink_status(folder).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::directory) {
    throw Error("git.unsafe_folder", fmt::format("{} is a link or a file, not a folder", base::quoted(folder.string())),
                "remove it: Reeve creates worktrees there");
  }
  os::create_folders(folder);
  os::create_file(folder / ".gitignore", "*\n");
}

std::string kept_worktree_ref(base::ExecutionId root, const std::string& name) {
  return kept_ref(root, "worktree/" + worktree_folder(root, name));
}

}  // namespace

Repository& IsolationSteps::open_repository(const std::string& project) {
  // Must happen before any worktree is read.
  if (!std::exchange(has_ended_setups_, true)) end_setups(setup_locks());
  const auto known = repositories_.find(project);
  if (known != repositories_.end()) return known->second;
  auto found = Repository::find(project, options_.scratch);
  if (!found) {
    throw Error("git.not_a_repository", fmt::format("{} is no longer in a git repository", base::quoted(project)),
                "restore its `.git`, or start a new execution");
  }
  return repositories_.emplace(project, std::move(*found)).first->second;
}

IsolationSteps::Site IsolationSteps::open_site(const IsolationSettings& settings, base::ExecutionId root) {
  Repository& repository = open_repository(settings.project);
  if (!secrets_.contains(root)) secrets_.emplace(root, make_secrets(settings.environment, settings.secrets));
  if (const auto agent = settings.environment.find("SSH_AUTH_SOCK"); agent != settings.environment.end()) {
    ssh_agents_.insert_or_assign(root, agent->second);
  }
  auto branch = in_store([root](store::Session& session) { return store::find_branch(session, root); });
  if (!branch) {
    const bool is_there =
        repository.find_ref(branch_ref(root)).has_value() ||
        fs::symlink_status(repository.root() / worktrees_folder / root.text()).type() != fs::file_type::not_found;
    if (is_there) {
      throw Error(
          "git.branch_in_use",
          fmt::format("the branch {} or its worktree already exists, from another Reeve instance", branch_name(root)),
          fmt::format("`git worktree remove --force .worktrees/{}` and `git branch -m {} NAME` clear the way",
                      root.text(), branch_name(root)));
    }
    branch = store::BranchRow{
        .root = root, .host = options_.host, .project = settings.project, .base_commit = *settings.base_commit};
    branch->tip = branch->base_commit;
    branch->home = options_.host;
    branch->remote = settings.worktree.remote;
    in_store([&](store::Session& session) { store::insert_branch(session, *branch); });
    options_.crash_point("isolation.after_branch");
  } else if (branch->remote && branch->home != options_.host) {
    throw Error("git.elsewhere",
                fmt::format("{} is owned by the host {}", root.text(), base::quoted(base::visible(branch->home))),
                "use Reeve on that host");
  } else if (!branch->is_open) {
    in_store([root](store::Session& session) { store::set_branch_open(session, root, true); });
  }
  if (branch->host != options_.host) {
    // This host may have cleaned up before: record it again, so that a retry is cleaned up too.
    in_store([&](store::Session& session) {
      if (!store::find_branch_place(session, root, options_.host)) {
        store::write_branch_place(session, root, options_.host, settings.project);
      }
    });
  }
  Site site{repository, std::move(*branch), settings.project};
  settle_branch(site);
  return site;
}

std::optional<IsolationSteps::Site> IsolationSteps::find_site(base::ExecutionId root) {
  auto branch = in_store([root](store::Session& session) { return store::find_branch(session, root); });
  if (!branch) return std::nullopt;
  if (branch->host != options_.host) {
    throw Error("git.elsewhere", fmt::format("{} has its worktrees on {}", root.text(), base::quoted(branch->host)),
                "use Reeve on that host");
  }
  if (branch->remote && branch->home != options_.host) come_home(*branch);
  Repository& repository = open_repository(branch->project);
  std::string project = branch->project;
  Site site{repository, std::move(*branch), std::move(project)};
  // Another host may have moved the branch, and messages to people name it.
  if (site.branch.remote && site.branch.is_open) {
    quietly("cannot update the branch of " + root.text() + " yet", [&] { settle_branch(site); });
  }
  return site;
}

bool IsolationSteps::is_ours(const store::BranchRow& branch) const {
  return branch.host == options_.host && branch.remote.has_value() == options_.is_shared;
}

// Moves the git branch to the commit in the store: a process in a worktree can move it.
void IsolationSteps::settle_branch(Site& site) {
  const std::string ref = branch_ref(site.root());
  const auto current = site.repository.find_ref(ref);
  if (current == site.branch.tip) return;
  check_branch_free(site, current);
  if (site.repository.set_ref(ref, site.branch.tip, current)) return;
  throw Error("git.branch_in_use", fmt::format("another process is moving the branch {}", branch_name(site.root())),
              "do not move it while its execution is running");
}

void IsolationSteps::check_branch_free(Site& site, const std::optional<std::string>& current) {
  const std::string name = branch_name(site.root());
  const auto refuse = [&](const fs::path& where) {
    throw Error("git.branch_in_use",
                fmt::format("the branch {} is checked out in {}", name, base::quoted(where.string())),
                "check out another branch there: this one moves while its execution is running");
  };
  for (const Repository::Worktree& worktree : site.repository.list_worktrees()) {
    if (worktree.branch == name) refuse(worktree.folder);
  }
  const auto main = site.repository.find_main_checkout();
  if (main && main->branch == name) refuse(main->folder);
  // Only then can the user's checkout be on this branch; checking that is slow.
  const bool may_be_here = current && site.repository.head() == current;
  if (may_be_here && site.repository.status().branch == name) refuse(site.repository.root());
}

fs::path IsolationSteps::folder_of(Site& site, const std::string& name) {
  return site.repository.root() / worktrees_folder / worktree_folder(site.root(), name);
}

// A process in the worktree can remove the folder or replace it with a link; nothing is read from it then.
bool IsolationSteps::is_there(Site& site, const WorktreeRow& row) {
  return row.is_ready && site.repository.has_worktree(folder_of(site, row.name));
}

// ISO-5: the project folder in the worktree, reached without following links.
std::string IsolationSteps::task_folder(Site& site, const std::string& name) {
  const fs::path folder = folder_of(site, name);
  const fs::path inner = path_in_repository(site.repository, site.project);
  if (inner == ".") return folder.string();
  const os::Folder worktree = os::Folder::open(folder.string());
  fs::path so_far;
  for (const fs::path& part : inner) {
    so_far /= part;
    if (worktree.make_folder(so_far.string()) && worktree.open_folder(so_far.string())) continue;
    throw Error(
        "git.unsafe_folder",
        fmt::format("{} is not a folder in the worktree of {}", base::quoted(so_far.string()), site.root().text()),
        "the project's folder must be a folder in every commit");
  }
  return (folder / inner).string();
}

void IsolationSteps::make_worktree(Site& site, const std::string& name, const std::string& commit) {
  const fs::path folder = folder_of(site, name);
  make_worktrees_folder(folder.parent_path());
  end_setup_in(folder.filename().string());
  site.repository.remove_worktree(folder);
  options_.crash_point("isolation.before_worktree");
  site.repository.add_worktree(folder, commit, std::nullopt, lock_reason(site.root()));
  options_.crash_point("isolation.after_worktree");
}

bool IsolationSteps::needs_setup(const IsolationSettings& settings) {
  return !settings.worktree.copy.empty() || !settings.worktree.setup.empty();
}

SetupPlan IsolationSteps::plan_setup(const IsolationSettings& settings, Site& site, const std::string& name) {
  return {.from = settings.project,
          .to = task_folder(site, name),
          .settings = settings.worktree,
          .environment = settings.environment,
          .secrets = settings.secrets,
          .lock = setup_locks() / worktree_folder(site.root(), name)};
}

void IsolationSteps::end_setup_in(const std::string& folder_name) {
  const fs::path lock = setup_locks() / folder_name;
  std::error_code error;
  if (!fs::exists(lock, error)) return;
  const os::FileLock ended = end_setup(lock);
  fs::remove(lock, error);
}

std::vector<WorktreeRow> IsolationSteps::list_rows(base::ExecutionId root) {
  return in_store([&](store::Session& session) { return store::find_worktrees(session, root, options_.host); });
}

void IsolationSteps::write_row(base::ExecutionId root, const WorktreeRow& row) {
  in_store([&](store::Session& session) { store::write_worktree(session, root, options_.host, row); });
}

std::optional<WorktreeRow> IsolationSteps::find_held(Site& site, const NodeAttemptId& place) {
  const store::WorktreeLease holder{place.execution, place.node, place.iteration, place.attempt};
  for (WorktreeRow& row : list_rows(site.root())) {
    if (row.holder == holder) return std::move(row);
  }
  return std::nullopt;
}

std::optional<store::PatchRow> IsolationSteps::find_patch(const NodeAttemptId& place) {
  return in_store([&](store::Session& session) {
    return store::find_patch(session, {place.root, place.execution, place.node, place.iteration, place.attempt});
  });
}

std::optional<WorktreeRow> IsolationSteps::choose_worktree(Site& site, const NodeAttemptId& place) {
  std::map<std::string, WorktreeRow> rows;
  for (WorktreeRow& row : list_rows(site.root())) rows.emplace(row.name, row);
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

bool IsolationSteps::hand_out(const IsolationSettings& settings, Site& site, WorktreeRow& row,
                              const store::WorktreeLease& holder) {
  keep_rest(site, row);
  const bool was_ready = is_there(site, row);
  const bool leaves_nothing = row.start_commit == row.base_commit;
  const bool is_tidy =
      was_ready && leaves_nothing && row.base_commit == site.branch.tip && row.kept_commit == site.branch.tip;
  row.holder = holder;
  row.is_ready = false;
  row.base_commit = row.start_commit = row.kept_commit = site.branch.tip;
  write_row(site.root(), row);
  options_.crash_point("isolation.after_claim");
  if (!was_ready) {
    make_worktree(site, row.name, site.branch.tip);
  } else if (!is_tidy) {
    site.repository.reset(folder_of(site, row.name), site.branch.tip);
  }
  const bool is_set_up = was_ready && leaves_nothing;
  if (needs_setup(settings) && !is_set_up) return true;
  row.is_ready = true;
  options_.crash_point("isolation.before_ready");
  write_row(site.root(), row);
  return false;
}

// The branch may have moved since: the worktree's own base commit counts.
void IsolationSteps::make_ready(Site& site, WorktreeRow& row) {
  // Records the setup's changes, to separate them from the task's.
  const auto start =
      site.repository.snapshot(folder_of(site, row.name), row.base_commit, site.root().text() + ": worktree setup");
  if (start) {
    row.start_commit = row.kept_commit = *start;
    keep_commit(site, kept_worktree_ref(site.root(), row.name), *start);
  }
  row.is_ready = true;
  options_.crash_point("isolation.before_ready");
  write_row(site.root(), row);
}

// ISO-4: changes made after collection are never deleted; they become a patch.
void IsolationSteps::keep_rest(Site& site, WorktreeRow& row) {
  if (!is_there(site, row)) return;
  const fs::path folder = folder_of(site, row.name);
  const std::string where = (fs::path(worktrees_folder) / worktree_folder(site.root(), row.name)).string();
  const auto rest =
      site.repository.snapshot(folder, row.kept_commit, fmt::format("{}: left in {}", site.root().text(), where));
  if (!rest) return;
  model::Patch patch;
  patch.execution_id = patch.root_id = site.root();
  patch.node_id = where;
  patch.base_commit = row.kept_commit;
  patch.commit = *rest;
  patch.attempt = count_patches(site.root(), where) + 1;
  row.kept_commit = *rest;
  keep_patch(site, std::move(patch), row,
             ledger::PatchMove{.to = PatchState::quarantined, .reason = "changed after the task ended"});
}

void IsolationSteps::release(Site& site, const NodeAttemptId& place) {
  auto row = find_held(site, place);
  if (!row) return;
  row->holder.reset();
  write_row(site.root(), *row);
  options_.crash_point("isolation.after_release");
  tidy(site, std::move(*row));
}

// Resets the worktree to the branch, unless that would need a new setup.
void IsolationSteps::tidy(Site& site, WorktreeRow row) {
  if (!is_there(site, row)) return;
  keep_rest(site, row);
  const bool is_tidy = row.base_commit == site.branch.tip && row.kept_commit == site.branch.tip;
  if (row.start_commit != row.base_commit || is_tidy) return;
  row.is_ready = false;
  write_row(site.root(), row);
  options_.crash_point("isolation.before_reset");
  site.repository.reset(folder_of(site, row.name), site.branch.tip);
  options_.crash_point("isolation.after_reset");
  row.is_ready = true;
  row.base_commit = row.start_commit = row.kept_commit = site.branch.tip;
  write_row(site.root(), row);
  forget_commit(site, kept_worktree_ref(site.root(), row.name));
}

void IsolationSteps::keep_commit(Site& site, const std::string& ref, const std::string& commit) {
  for (int i = 0; i < 3; ++i) {
    const auto current = site.repository.find_ref(ref);
    if (current == commit || site.repository.set_ref(ref, commit, current)) return;
  }
  throw Error("git.failed", fmt::format("another process is moving {}", ref), "do not change refs under refs/reeve");
}

void IsolationSteps::forget_commit(Site& site, const std::string& ref) {
  const auto current = site.repository.find_ref(ref);
  if (current) site.repository.delete_ref(ref, *current);
}

}  // namespace reeve::runtime
