#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/call_subject.h"
#include "model/config.h"
#include "model/grant.h"

// Standing grants (TOOL-8): what may be granted, and what a grant covers.
namespace reeve::engine {

struct GrantTerms {
  model::GrantScope scope = model::GrantScope::run;
  model::GrantMatch match = model::GrantMatch::exact;
  // For `path`: a glob relative to the worktree.
  std::string path = {};
};

// Why such a grant is refused, with what to do instead; nothing if it can be made. A call that the policies deny, and
// by program: interpreters, shells, programs that start others, options that run commands, programs that the run can
// replace.
std::optional<std::string> find_grant_objection(const model::Policies& policies, const CallSubject& subject,
                                                const GrantTerms& terms);

// Sets agent, tool, scope, match, digest, program, path and `describes`. Requires that find_grant_objection() has
// nothing to say.
model::Grant make_grant(const CallSubject& subject, const std::string& digest, const GrantTerms& terms);

// For "this also allows: …": what the grant covers beyond the call that it was made from; empty for `exact` in `run`.
std::vector<std::string> describe_extent(const model::Grant& grant);

// Whether tool and extent cover the call; agent, scope and time are not compared.
bool covers(const model::Grant& grant, const CallSubject& subject, const std::string& digest);

}  // namespace reeve::engine
