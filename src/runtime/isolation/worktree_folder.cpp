#include "runtime/isolation/worktree_folder.h"

#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/beneath.h"
#include "os/file.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using git::Repository;

namespace {

fs::path path_in_repository(const Repository& repository, const std::string& project) {
  return fs::canonical(project).lexically_relative(repository.root()).lexically_normal();
}

// ISO-1: the folder of all worktrees, ignored by git.
void make_worktrees_folder(const fs::path& folder) {
  const auto kind = fs::symlink_status(folder).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::directory) {
    throw Error(ErrorCode::git_unsafe_folder,
                fmt::format("{} is a link or a file, not a folder", base::quoted(folder.string())),
                "remove it: Reeve creates worktrees there");
  }
  os::create_folders(folder);
  os::create_file(folder / ".gitignore", "*\n");
}

}  // namespace

fs::path worktree_path(const ExecutionBranch& branch, const std::string& name) {
  return branch.repository().root() / worktrees_folder / worktree_folder(branch.root(), name);
}

std::string kept_worktree_ref(base::ExecutionId root, const std::string& name) {
  return kept_ref(root, "worktree/" + worktree_folder(root, name));
}

std::string task_folder(const ExecutionBranch& branch, const std::string& name) {
  const fs::path folder = worktree_path(branch, name);
  const fs::path inner = path_in_repository(branch.repository(), branch.project());
  if (inner == ".") return folder.string();
  const os::Folder worktree = os::Folder::open(folder.string());
  fs::path so_far;
  for (const fs::path& part : inner) {
    so_far /= part;
    if (worktree.make_folder(so_far.string()) && worktree.open_folder(so_far.string())) continue;
    throw Error(
        ErrorCode::git_unsafe_folder,
        fmt::format("{} is not a folder in the worktree of {}", base::quoted(so_far.string()), branch.root().text()),
        "the project's folder must be a folder in every commit");
  }
  return (folder / inner).string();
}

void make_worktree(const IsolationContext& context, const ExecutionBranch& branch, const std::string& name,
                   const std::string& commit) {
  const fs::path folder = worktree_path(branch, name);
  make_worktrees_folder(folder.parent_path());
  end_setup_in(context, folder.filename().string());
  branch.repository().remove_worktree(folder);
  context.crash_point("isolation.before_worktree");
  branch.repository().add_worktree(folder, commit, std::nullopt, lock_reason(branch.root()));
  context.crash_point("isolation.after_worktree");
}

bool needs_setup(const IsolationSettings& settings) {
  return !settings.worktree.copy.empty() || !settings.worktree.setup.empty();
}

SetupPlan plan_setup(const IsolationContext& context, const IsolationSettings& settings, const ExecutionBranch& branch,
                     const std::string& name) {
  return {.from = settings.project,
          .to = task_folder(branch, name),
          .settings = settings.worktree,
          .environment = settings.environment,
          .secrets = settings.secrets,
          .lock = context.setup_locks() / worktree_folder(branch.root(), name)};
}

void end_setup_in(const IsolationContext& context, const std::string& folder_name) {
  const fs::path lock = context.setup_locks() / folder_name;
  std::error_code error;
  if (!fs::exists(lock, error)) return;
  const os::FileLock ended = end_setup(lock);
  fs::remove(lock, error);
}

}  // namespace reeve::runtime
