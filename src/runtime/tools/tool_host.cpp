#include "runtime/tools/tool_host.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/tools/file_tools.h"
#include "runtime/tools/git_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

wire::CallResult run_git_tool(const HostedCall& call, const std::stop_token& stop) {
  const auto folder = ConfinedFolder::open(call.worktree);
  if (!folder) return make_failure(folder.error());
  const auto git = WorktreeGit::open(call, *folder, stop);
  if (!git) return make_failure("the worktree is not in a git repository");
  if (call.tool == "git_diff") return git_diff_tool(*git, call.arguments);
  if (call.tool == "git_log") return git_log_tool(*git, call.arguments);
  if (call.tool == "git_blame") return git_blame_tool(*git, call.arguments);
  if (call.tool == "git_add") return git_add_tool(*git, call.arguments);
  if (call.tool == "git_commit") return git_commit_tool(*git, call.arguments);
  return git_push_tool(*git, call, stop);
}

wire::CallResult dispatch(const HostedCall& call, const std::stop_token& stop) {
  if (const auto fault = find_argument_fault(call.tool, call.arguments)) return make_failure(*fault);
  if (stop.stop_requested()) return make_failure(call.tool + ": stopped");
  if (call.tool == "file_read") return read_file_tool(call, stop);
  if (call.tool == "list_directory") return list_directory_tool(call);
  if (call.tool == "search_files") return search_files_tool(call, stop);
  if (call.tool == "file_write") return write_file_tool(call);
  if (call.tool == "shell_execute") return make_failure("shell_execute: runs as a run of its own, not here");
  return run_git_tool(call, stop);
}

}  // namespace

wire::CallResult run_hosted(const HostedCall& call, const std::stop_token& stop) {
  try {
    return dispatch(call, stop);
  } catch (const base::Error& error) {
    if (stop.stop_requested()) return make_failure(call.tool + ": stopped");
    const std::string fix = error.fix().empty() ? "" : fmt::format(" ({})", error.fix());
    return make_failure(fmt::format("{}: {}{}", call.tool, error.message(), fix));
  } catch (const std::exception& error) {
    return make_failure(fmt::format("{}: {}", call.tool, error.what()));
  }
}

}  // namespace reeve::runtime
