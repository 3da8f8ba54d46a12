#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "engine/call_path.h"
#include "model/config.h"
#include "model/policy.h"

// What a tool call may do (TOOL-1, TOOL-2).
namespace reeve::engine {

struct PolicyVerdict {
  model::Policy policy = model::Policy::require_approval;
  // Which rule said so, for the person who asks: "policies.roles.mayor.git_commit", "default", "unknown tool".
  std::string source;
};

// The role's rules, then the tool's or the default of the role, whichever is stricter (a built-in default of a role
// never loosens what a config says of the tool, nor does the tool's rule what the role is denied), then the default of
// the tool, then `require_approval`. Of one list the first rule that fits: those with `when` are tried on the parsed
// arguments, in their order, before those without. Arguments that a rule names and the call does not have make the rule
// not fit.
//
// Paths are matched as they lie beneath the worktree (a pattern that begins with `/`: as absolute ones), never as they
// were written (TOOL-8). Whatever rule says so, a tool that reads or writes files is approved automatically only
// beneath the worktree, and reading only outside names_secret_file(); a path that is missing or no text is asked about.
PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments, const CallPlace& place);

}  // namespace reeve::engine
