#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/call_subject.h"
#include "engine/digest.h"
#include "engine/read_scope.h"
#include "model/config.h"
#include "model/grant.h"
#include "model/policy.h"

// The one function that decides a tool call (TOOL-1, TOOL-8). Every channel asks it.
namespace reeve::engine {

struct CallVerdict {
  model::Policy policy = model::Policy::require_approval;
  // The rule that decided: "policies.roles.coder.shell_execute", "default", "unknown tool", "GR-3".
  std::string rule;
  // Why a rule that allows did not: "outside the worktree"; empty if there is nothing to add.
  std::string reason;
  std::optional<base::GrantId> grant;
};

// First the policies; a grant can turn `require_approval` into `auto_approve`, never a `deny`. Grants that have
// expired, are revoked or belong to another agent, run, execution or project must not be passed: only tool and extent
// are compared here.
CallVerdict decide_call(const model::Policies& policies, const CallSubject& subject, const std::string& digest,
                        std::span<const model::Grant> grants);

// What the caller has to look up on the disk before it decides.
struct NeededFacts {
  // Paths as written in the arguments, for CallPlace::real_paths.
  std::vector<std::string> paths;
  // The words of a shell call that is one simple command, for CallSubject::program and the facts after it.
  std::vector<std::string> argv;
  // What the agent's own tool would read, for CallPlace::may_hold_secrets.
  std::vector<ReadScope> reads;
};
NeededFacts find_needed_facts(const CallSubject& subject);

// "sha256:…" of tool, arguments and folder: what an approval of a call is bound to (APR-10).
std::string digest_of_call(std::string_view tool, const base::Value& arguments, const FolderIdentity& folder);

}  // namespace reeve::engine
