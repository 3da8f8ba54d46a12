#pragma once

#include "engine/call_subject.h"
#include "model/policy.h"

// The conditions of policy rules (TOOL-8), on the parsed arguments of one call.
namespace reeve::engine {

// `unknown`: it cannot be decided, for example because a shell text is not one simple command.
enum class RuleMatch { no, unknown, yes };

// A rule that approves must match for certain, every path of the call included. A stricter rule matches if any path, in
// any resolved form, or any name of the program does, and is `unknown` rather than missed.
RuleMatch match_rule(const model::PolicyRule& rule, const CallSubject& subject);

}  // namespace reeve::engine
