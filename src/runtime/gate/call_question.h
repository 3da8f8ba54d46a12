#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "engine/call_gate.h"
#include "engine/call_subject.h"
#include "model/approval.h"
#include "model/tool_call.h"

// A tool call as the question that a person decides (TOOL-3, APR-1). Pure.
namespace reeve::runtime {

// As much of a call's arguments as is stored and shown.
inline constexpr std::size_t max_stored_arguments = 16 * 1024;

// Replaces secrets in a text (LOG-4).
using HideSecrets = std::function<std::string(const std::string&)>;

// The arguments for records: secrets replaced in keys and texts, and at most max_stored_arguments bytes of them. What
// was cut says so in its place.
base::Value bound_arguments(const base::Value& arguments, const HideSecrets& hide);

struct CallScene {
  const engine::CallSubject& subject;
  const engine::CallVerdict& verdict;
  // As the agent names the tool.
  std::string native_tool;
  // bound_arguments()
  base::Value arguments;
  // The end of the agent's output, without secrets.
  std::string said;
};
// Question, arguments and the part of the context that the store does not know.
model::Approval make_call_question(const CallScene& scene, const HideSecrets& hide);

// The last calls of the run before this one, newest first, for the context.
std::string describe_last_calls(const std::vector<model::ToolCall>& calls);

}  // namespace reeve::runtime
