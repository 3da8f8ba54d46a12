#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "engine/call_path.h"
#include "model/config.h"
#include "model/policy.h"

// Policy for tool calls (TOOL-1, TOOL-2).
namespace reeve::engine {

struct PolicyVerdict {
  model::Policy policy = model::Policy::require_approval;
  // The rule that decided: "policies.roles.mayor.git_commit", "default", "unknown tool".
  std::string source;
};

// Order: the role's rules; then the stricter of the tool's rules and the role's built-in default (neither loosens the
// other); then the tool's default; then `require_approval`. Within a list, rules with `when` are tried on the parsed
// arguments first, in order, then rules without. A rule does not match if it names an argument that the call does not
// have.
//
// Paths are matched relative to the worktree (or absolute, for a pattern that begins with `/`), never as written
// (TOOL-8). Whatever the rules say, a tool that reads or writes files is auto-approved only inside the worktree, and
// reading only if names_secret_file() is false; a path that is missing or not a string needs approval.
PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments, const CallPlace& place);

// Whether the call only reads, inside the worktree and no file that may contain secrets.
bool only_reads(std::string_view tool, const base::Value& arguments, const CallPlace& place);

}  // namespace reeve::engine
