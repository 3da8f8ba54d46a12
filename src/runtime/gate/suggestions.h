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

// Proposes only rules that would be accepted as grants by program too and that would have allowed their calls: a
// program with its subcommand if it was approved with different arguments, otherwise exact argument vectors. Those that
// cover the most calls come first. Pure.
wire::PolicySuggestions make_suggestions(const std::vector<ApprovedCall>& calls, const model::Policies& policies);

}  // namespace reeve::runtime
