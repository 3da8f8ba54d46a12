#include "agents/protocol/claude_messages.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_reason = 4096;

// What the model reads.
Value shown_reason(std::string_view reason) {
  const std::string text = base::replace_invalid_utf8(base::truncate_utf8(reason, max_reason));
  return Value::string(text.empty() ? "denied" : text);
}

std::string make_request(std::string_view id, Value request) {
  return json::encode(Value::object({{"type", Value::string("control_request")},
                                     {"request_id", Value::string(id)},
                                     {"request", std::move(request)}}));
}

std::string make_response(Value response) {
  return json::encode(Value::object({{"type", Value::string("control_response")}, {"response", std::move(response)}}));
}

std::string make_success(std::string_view request, Value response) {
  return make_response(Value::object({{"subtype", Value::string("success")},
                                      {"request_id", Value::string(request)},
                                      {"response", std::move(response)}}));
}

}  // namespace

std::string make_claude_initialize() {
  return make_request(claude_initialize_id,
                      Value::object({{"subtype", Value::string("initialize")}, {"hooks", Value()}}));
}

std::string make_claude_interrupt(std::uint64_t number) {
  return make_request(fmt::format("interrupt-{}", number), Value::object({{"subtype", Value::string("interrupt")}}));
}

std::string make_claude_prompt(std::string_view prompt) {
  Value message =
      Value::object({{"role", Value::string("user")}, {"content", Value::string(base::replace_invalid_utf8(prompt))}});
  return json::encode(Value::object({{"type", Value::string("user")},
                                     {"session_id", Value::string("")},
                                     {"parent_tool_use_id", Value()},
                                     {"message", std::move(message)}}));
}

std::string make_claude_allow(std::string_view request, Value arguments) {
  return make_success(request,
                      Value::object({{"behavior", Value::string("allow")}, {"updatedInput", std::move(arguments)}}));
}

std::string make_claude_deny(std::string_view request, std::string_view reason) {
  return make_success(request, Value::object({{"behavior", Value::string("deny")}, {"message", shown_reason(reason)}}));
}

std::string make_claude_hook_denial(std::string_view request) {
  Value output = Value::object({{"hookEventName", Value::string("PreToolUse")},
                                {"permissionDecision", Value::string("deny")},
                                {"permissionDecisionReason", shown_reason("Reeve has no hook of this name")}});
  return make_success(request, Value::object({{"hookSpecificOutput", std::move(output)}}));
}

std::string make_claude_refusal(std::string_view request, std::string_view subtype) {
  const std::string error = fmt::format("unsupported request {}", base::quoted(subtype));
  return make_response(Value::object({{"subtype", Value::string("error")},
                                      {"request_id", Value::string(request)},
                                      {"error", Value::string(error)},
                                      {"error_code", Value::string("unsupported_request")}}));
}

}  // namespace reeve::agents
