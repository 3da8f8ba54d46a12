#pragma once

#include <string>
#include <vector>

#include "engine/call_subject.h"
#include "model/config.h"
#include "model/tool_call.h"
#include "wire/grant.h"

// Rules for the config, proposed from what people approved (TOOL-8).
namespace reeve::runtime {

// A call that a person approved, with the facts of today.
struct ApprovedCall {
  model::ToolCall call;
  engine::CallSubject subject;
  // The stored arguments are those that the agent sent.
  bool is_complete = false;
};

// Proposes only rules that would have allowed their calls. For commands: a program with its subcommand if it was
// approved with different arguments, otherwise exact argument vectors; never interpreters, programs that start others,
// or options that run commands. For tools that touch files: a folder if several of its files were approved, otherwise
// one file. Grouped by tool; those that cover the most calls come first. Pure.
wire::PolicySuggestions make_suggestions(const std::vector<ApprovedCall>& calls, const model::Policies& policies);

}  // namespace reeve::runtime
