#pragma once

#include "runtime/tools/tool_host.h"
#include "runtime/tools/worktree_git.h"

// The tools that call git. Nothing that a repository configures is run, and options, hooks and signatures stay out: see
// WorktreeGit and git/command.h. Arguments have been checked; base::Error where git fails.
namespace reeve::runtime {

wire::CallResult git_diff_tool(WorktreeGit& git, const base::Value& arguments);
wire::CallResult git_log_tool(WorktreeGit& git, const base::Value& arguments);
wire::CallResult git_blame_tool(WorktreeGit& git, const base::Value& arguments);
wire::CallResult git_add_tool(WorktreeGit& git, const base::Value& arguments);
wire::CallResult git_commit_tool(WorktreeGit& git, const base::Value& arguments);
wire::CallResult git_push_tool(WorktreeGit& git, const HostedCall& call, const std::stop_token& stop);

}  // namespace reeve::runtime
