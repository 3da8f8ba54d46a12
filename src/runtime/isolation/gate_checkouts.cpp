#include "runtime/isolation/gate_checkouts.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using git::Repository;

PreparedFolder GateCheckouts::make(const IsolationSettings& settings, const NodeAttemptId& place,
                                   const std::optional<std::string>& commit, const std::string& name) {
  ExecutionBranch branch = ExecutionBranch::open(context_, settings, place.root);
  if (branch.row().remote) branch.publish(branch.row().tip);
  return make(settings, branch,
              fmt::format("{}-{}-{}-{}-{}", place.execution.text(), place.node, place.iteration, place.attempt, name),
              commit.value_or(branch.row().tip));
}

// The execution may have ended and been closed. It is reopened while it has a checkout, so that a daemon that dies now
// leaves a record of it.
PreparedFolder GateCheckouts::make_merge(const IsolationSettings& settings, const Isolation::GateCheck& check,
                                         const std::string& gate) {
  ExecutionBranch branch = ExecutionBranch::get(context_, check.root);
  if (!branch.row().is_open) branch.set_open(true);
  return make(settings, branch, fmt::format("{}-merge-{}", check.name, gate), check.commit);
}

PreparedFolder GateCheckouts::make(const IsolationSettings& settings, const ExecutionBranch& branch,
                                   const std::string& words, const std::string& commit) {
  const std::string name = throwaway_name(words);
  make_worktree(context_, branch, name, commit);
  PreparedFolder prepared{
      .folder = task_folder(branch, name), .setup = {}, .commit = commit, .tree = branch.repository().tree_of(commit)};
  if (needs_setup(settings)) prepared.setup = plan_setup(context_, settings, branch, name);
  return prepared;
}

// In the same folder, because the restarted run uses that path.
PreparedFolder GateCheckouts::renew(const IsolationSettings& settings, base::ExecutionId root,
                                    const Isolation::Checkout& checkout) {
  const ExecutionBranch branch = ExecutionBranch::get(context_, root);
  const fs::path worktrees = branch.repository().root() / worktrees_folder;
  const std::string folder_name = fs::path(checkout.folder).lexically_relative(worktrees).begin()->string();
  const std::string prefix = worktree_folder(root, "");
  const bool is_its = is_throwaway(folder_name) && folder_name.starts_with(prefix + ".");
  if (!is_its) {
    throw Error(ErrorCode::git_unsafe_folder,
                fmt::format("{} is not a checkout of {}", base::quoted(checkout.folder), root.text()));
  }
  const std::string name = folder_name.substr(prefix.size() + 1);
  make_worktree(context_, branch, name, checkout.commit);
  PreparedFolder prepared{
      .folder = task_folder(branch, name), .setup = {}, .commit = checkout.commit, .tree = checkout.tree};
  if (needs_setup(settings)) prepared.setup = plan_setup(context_, settings, branch, name);
  return prepared;
}

void GateCheckouts::discard(const IsolationSettings& settings, const std::string& folder) {
  Repository& repository = context_.open_repository(settings.project);
  const fs::path worktrees = repository.root() / worktrees_folder;
  const fs::path name = *fs::path(folder).lexically_relative(worktrees).begin();
  if (!is_throwaway(name.string())) return;
  end_setup_in(context_, name.string());
  repository.remove_worktree(worktrees / name);
}

void GateCheckouts::remove_all(const ExecutionBranch& branch) {
  const base::ExecutionId root = branch.root();
  const std::string prefix = root.text() + ".";
  for (const Repository::Worktree& worktree : branch.repository().list_worktrees()) {
    const std::string name = worktree.folder.filename().string();
    const bool is_its = worktree.lock_reason == lock_reason(root) && name.starts_with(prefix) && is_throwaway(name);
    if (!is_its) continue;
    if (!worktree.is_own) {
      branch.repository().forget_worktree(worktree.folder);
      continue;
    }
    end_setup_in(context_, name);
    branch.repository().remove_worktree(worktree.folder);
  }
}

}  // namespace reeve::runtime
