#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/id.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/worktree_setup.h"
#include "runtime/settings/isolation_settings.h"

// The folders of an execution's worktrees and throwaway checkouts, below `.worktrees/`.
namespace reeve::runtime {

// A folder that may still need set_up_worktree(), which uses no git, may take long and can run on any thread. Until it
// has finished, nothing else may be done for the same node, and the execution may not be closed.
struct PreparedFolder {
  std::string folder;
  std::optional<SetupPlan> setup;
  // Only for throwaway checkouts.
  std::string commit = {};
  std::string tree = {};
};

std::filesystem::path worktree_path(const ExecutionBranch& branch, const std::string& name);
// The ref that keeps the commit of the worktree's files.
std::string kept_worktree_ref(base::ExecutionId root, const std::string& name);
// ISO-5: the project folder in the worktree, reached without following links. Throws `git.unsafe_folder`.
std::string task_folder(const ExecutionBranch& branch, const std::string& name);
// Creates the worktree at that commit, replacing an existing one.
void make_worktree(const IsolationContext& context, const ExecutionBranch& branch, const std::string& name,
                   const std::string& commit);

bool needs_setup(const IsolationSettings& settings);
SetupPlan plan_setup(const IsolationContext& context, const IsolationSettings& settings, const ExecutionBranch& branch,
                     const std::string& name);
// Ends processes that a setup left running in that worktree.
void end_setup_in(const IsolationContext& context, const std::string& folder_name);

}  // namespace reeve::runtime
