#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "wire/tool_call.h"

// The tools that Reeve runs for an agent (TOOL-4), confined to its worktree by descriptor: no path leaves it, and
// symlinks, hard links to files elsewhere, mount points, FIFOs and devices are refused. Called on a thread that may
// block. `shell_execute` is not run here: it is a run of its own, whose argument vector find_shell_argv() returns.
namespace reeve::runtime {

struct HostedCall {
  // Reeve's name.
  std::string tool;
  base::Value arguments;
  // Absolute. Every path is resolved beneath it; relative ones against it.
  std::string worktree;
  // An existing folder outside the worktree, for what the git tools need to write besides the repository.
  std::string scratch;
  // The socket of the user's ssh agent, for git_push; empty: none.
  std::string ssh_agent = {};
};

// In the order of SPEC, with JSON Schemas of their arguments.
const std::vector<wire::HostedTool>& hosted_tools();
bool is_hosted(std::string_view tool) noexcept;

// Why the arguments do not match the tool's schema: "file_read: 'path' is missing"; nothing if they do. Unknown
// arguments are faults. Pure.
std::optional<std::string> find_argument_fault(std::string_view tool, const base::Value& arguments);

// Runs the tool. Failures are results with `is_error`, never exceptions; the content is valid UTF-8 of at most
// `max_hosted_content` bytes and says what was cut. Requires that find_argument_fault() has nothing to say.
wire::CallResult run_hosted(const HostedCall& call, const std::stop_token& stop);

// The only tool that is not run by run_hosted().
inline constexpr std::string_view hosted_shell_tool = "shell_execute";

inline constexpr std::size_t max_hosted_content = 256 * 1024;

// The argument vector of a `shell_execute` call: `argv`, or `command` through /bin/sh -c. Nothing if the arguments have
// neither.
std::optional<std::vector<std::string>> find_shell_argv(const base::Value& arguments);

}  // namespace reeve::runtime
