#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "engine/call_path.h"
#include "engine/call_subject.h"
#include "model/config.h"
#include "model/policy.h"

// Policy for tool calls (TOOL-1, TOOL-2, TOOL-8).
namespace reeve::engine {

struct PolicyVerdict {
  model::Policy policy = model::Policy::require_approval;
  // The rule that decided: "policies.roles.mayor.git_commit", "default", "unknown tool".
  std::string source;
  // Why the rule did not approve although it says so: "outside the worktree"; empty if it did.
  std::string reason = {};
  // A rule that denies may match; nobody can tell.
  bool may_be_denied = false;
};

// Order: the role's rules; then the stricter of the tool's rules and the role's built-in default (neither loosens the
// other); then the tool's default; then `require_approval`. Within a list, rules with `when` are tried on the parsed
// arguments first, in order, then rules without; a rule that denies wins over the others, wherever it stands.
//
// A denial is loosened only by a rule that says `even_if_denied`: neither a role's rule nor a tool's rule undoes it
// otherwise. A stricter rule whose condition cannot be decided, such as `program` on a text that is not one simple
// command, makes the result at least `require_approval`; a rule that approves does not match then.
//
// Paths are matched relative to the worktree (or absolute, for a pattern that begins with `/`), never as written
// (TOOL-8). Whatever the rules say, a tool that reads or writes files is auto-approved only inside the worktree;
// reading only if names_secret_file() is false and no file beneath a folder or pattern may hold secrets
// (CallPlace::may_hold_secrets), writing only if is_sensitive_file() is false, so that no rule lets an agent change
// what gates it. A path that is missing or not a string needs approval. `shell_execute` is auto-approved only by a rule
// with `argv` or `program`, and only for a program that the run cannot replace.
PolicyVerdict resolve_policy(const model::Policies& policies, const CallSubject& subject);

// The same when nothing else about the call is known. The reason is part of the source.
PolicyVerdict resolve_policy(const model::Policies& policies, std::string_view role, std::string_view tool,
                             const base::Value& arguments, const CallPlace& place);

// Whether the paths among its arguments are all the files that the tool touches.
bool is_file_tool(std::string_view tool);

// Whether the call only reads, inside the worktree and no file that may contain secrets.
bool only_reads(std::string_view tool, const base::Value& arguments, const CallPlace& place);

// A line for each rule with a condition that matches nothing, because runs are not confined that far yet:
// "policies.tools.shell_execute: `sandbox: guard` matches nothing: …".
std::vector<std::string> find_inert_conditions(const model::Policies& policies);

}  // namespace reeve::engine
