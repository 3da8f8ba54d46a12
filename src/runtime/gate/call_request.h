#pragma once

#include <string>

#include "base/value.h"
#include "engine/tool_names.h"
#include "wire/tool_call.h"

// A tool call as it arrives: checked, and with Reeve's names (TOOL-7). Pure.
namespace reeve::runtime {

// Of the whole request, as JSON: as much as a hook reads from its agent.
inline constexpr std::size_t max_call_bytes = 16 * 1024 * 1024;

// Throws `call.bad_request` with what is wrong: names and ids that are empty, too long or not plain text, arguments
// that are not an object, a folder that is not absolute, a dialect that nobody speaks.
void check_call(const wire::CallRequest& request);
void check_session(const wire::SessionReport& report);
// Implausibly large totals count as the limits of a usage report.
wire::SessionUsage bound_usage(const wire::SessionUsage& usage);

// Tool and arguments with Reeve's names; `cwd` is the folder that relative paths belong to.
engine::NamedCall name_request(const wire::CallRequest& request, const std::string& cwd);

// The first of the texts that is not empty: the folder of the call, else of the run, without `.`, `..` and a slash at
// its end.
std::string find_call_folder(const wire::CallRequest& request, const std::string& run_folder);

// The folder that a run's calls are confined to: the project if the run works inside it, else the run's own folder.
// Runs of nodes are confined to their worktree, which is their folder.
std::string find_confinement(const std::string& run_folder, const std::string& project, bool is_node);

}  // namespace reeve::runtime
