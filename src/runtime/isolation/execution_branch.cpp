#include "runtime/isolation/execution_branch.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using git::Repository;

store::BranchRow ExecutionBranch::create(IsolationContext& context, const IsolationSettings& settings,
                                         base::ExecutionId root) {
  Repository& repository = context.open_repository(settings.project);
  const bool is_taken =
      repository.find_ref(branch_ref(root)).has_value() ||
      fs::symlink_status(repository.root() / worktrees_folder / root.text()).type() != fs::file_type::not_found;
  if (is_taken) {
    throw Error(
        ErrorCode::git_branch_in_use,
        fmt::format("the branch {} or its worktree already exists, from another Reeve instance", branch_name(root)),
        fmt::format("`git worktree remove --force .worktrees/{}` and `git branch -m {} NAME` clear the way",
                    root.text(), branch_name(root)));
  }
  store::BranchRow row{
      .root = root, .host = context.host, .project = settings.project, .base_commit = *settings.base_commit};
  row.tip = row.base_commit;
  row.home = context.host;
  row.remote = settings.worktree.remote;
  context.in_store([&](store::Session& session) { store::insert_branch(session, row); });
  context.crash_point("isolation.after_branch");
  return row;
}

ExecutionBranch ExecutionBranch::open(IsolationContext& context, const IsolationSettings& settings,
                                      base::ExecutionId root) {
  Repository& repository = context.open_repository(settings.project);
  context.secrets.add(root, settings);
  auto row = context.find_branch(root);
  if (!row) {
    row = create(context, settings, root);
  } else if (row->remote && row->home != context.host) {
    throw Error(ErrorCode::git_elsewhere,
                fmt::format("{} is owned by the host {}", root.text(), base::quoted(base::visible(row->home))),
                "use Reeve on that host");
  } else if (!row->is_open) {
    context.in_store([root](store::Session& session) { store::set_branch_open(session, root, true); });
  }
  if (row->host != context.host) {
    // This host may have cleaned up before: record it again, so that a retry is cleaned up too.
    context.in_store([&](store::Session& session) {
      if (!store::find_branch_place(session, root, context.host)) {
        store::write_branch_place(session, root, context.host, settings.project);
      }
    });
  }
  ExecutionBranch branch(context, repository, std::move(*row), settings.project);
  branch.restore_ref();
  return branch;
}

std::optional<ExecutionBranch> ExecutionBranch::find(IsolationContext& context, base::ExecutionId root) {
  auto row = context.find_branch(root);
  if (!row) return std::nullopt;
  if (row->host != context.host) {
    throw Error(ErrorCode::git_elsewhere,
                fmt::format("{} has its worktrees on {}", root.text(), base::quoted(row->host)),
                "use Reeve on that host");
  }
  if (row->remote && row->home != context.host) reclaim(context, *row);
  Repository& repository = context.open_repository(row->project);
  std::string project = row->project;
  ExecutionBranch branch(context, repository, std::move(*row), std::move(project));
  // Another host may have moved the branch, and messages to people name it.
  if (branch.row_.remote && branch.row_.is_open) {
    context.try_git("cannot update the branch of " + root.text() + " yet", [&] { branch.restore_ref(); });
  }
  return branch;
}

ExecutionBranch ExecutionBranch::get(IsolationContext& context, base::ExecutionId root) {
  auto branch = find(context, root);
  if (!branch) {
    throw Error(ErrorCode::patch_no_repository, fmt::format("the repository of {} is not known", root.text()));
  }
  return std::move(*branch);
}

ExecutionBranch ExecutionBranch::get(IsolationContext& context, const model::Patch& patch) {
  auto branch = find(context, patch.root_id);
  if (!branch) {
    throw Error(ErrorCode::patch_no_repository, fmt::format("the repository of {} is not known", patch.patch_id.text()),
                "`reeve patch show` still shows its diff");
  }
  return std::move(*branch);
}

void ExecutionBranch::restore_ref() {
  const std::string ref = branch_ref(root());
  const auto current = repository_->find_ref(ref);
  if (current == row_.tip) return;
  check_free(current);
  if (repository_->set_ref(ref, row_.tip, current)) return;
  throw Error(ErrorCode::git_branch_in_use, fmt::format("another process is moving the branch {}", branch_name(root())),
              "do not move it while its execution is running");
}

void ExecutionBranch::check_free() const { check_free(repository_->find_ref(branch_ref(root()))); }

void ExecutionBranch::check_free(const std::optional<std::string>& current) const {
  const std::string name = branch_name(root());
  const auto refuse = [&](const fs::path& where) {
    throw Error(ErrorCode::git_branch_in_use,
                fmt::format("the branch {} is checked out in {}", name, base::quoted(where.string())),
                "check out another branch there: this one moves while its execution is running");
  };
  for (const Repository::Worktree& worktree : repository_->list_worktrees()) {
    if (worktree.branch == name) refuse(worktree.folder);
  }
  const auto main = repository_->find_main_checkout();
  if (main && main->branch == name) refuse(main->folder);
  // Only then can the user's checkout be on this branch; checking that is slow.
  const bool may_be_here = current && repository_->head() == current;
  if (may_be_here && repository_->status().branch == name) refuse(repository_->root());
}

void ExecutionBranch::write_tip(store::Session& session, const std::string& commit) const {
  store::move_branch(session, row_, commit);
}

void ExecutionBranch::set_open(bool is_open) {
  context_->in_store([&](store::Session& session) { store::set_branch_open(session, root(), is_open); });
}

}  // namespace reeve::runtime
