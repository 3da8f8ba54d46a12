#include "agents/protocol/opencode_requests.h"

#include <fmt/format.h>

#include "agents/protocol/agent_message.h"
#include "base/text.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_reason = 4096;

std::string encode_segment(std::string_view id) {
  std::string segment;
  for (const char c : id) {
    const bool is_plain = base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '-' || c == '_' || c == '.';
    segment += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return segment;
}

}  // namespace

std::optional<std::string> path_id_of(const Value& value, std::string_view key) {
  auto id = name_of(value, key);
  // Servers resolve these in a path.
  if (id && (*id == "." || *id == "..")) return std::nullopt;
  return id;
}

std::string make_opencode_target(std::string_view collection, std::string_view id, std::string_view action) {
  std::string target = fmt::format("/{}/{}", collection, encode_segment(id));
  if (!action.empty()) target += fmt::format("/{}", action);
  return target;
}

Value make_opencode_prompt(std::string_view prompt, const std::optional<std::string>& model) {
  Value text =
      Value::object({{"type", Value::string("text")}, {"text", Value::string(base::replace_invalid_utf8(prompt))}});
  Value body = Value::object({{"parts", Value::array({std::move(text)})}});
  const std::size_t slash = model ? model->find('/') : std::string::npos;
  if (slash != std::string::npos) {
    body.set("model", Value::object({{"providerID", Value::string(model->substr(0, slash))},
                                     {"modelID", Value::string(model->substr(slash + 1))}}));
  }
  return body;
}

// "always" would let later calls past the gate.
Value make_opencode_approval() { return Value::object({{"reply", Value::string("once")}}); }

Value make_opencode_refusal(std::string_view reason) {
  // Without a message opencode ends the turn.
  std::string message = base::replace_invalid_utf8(base::truncate_utf8(reason, max_reason));
  if (base::trim(message).empty()) message = "denied";
  return Value::object({{"reply", Value::string("reject")}, {"message", Value::string(message)}});
}

}  // namespace reeve::agents
