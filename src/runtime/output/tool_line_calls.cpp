#include "runtime/output/tool_line_calls.h"

#include <algorithm>
#include <cstring>
#include <re2/re2.h>

#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::runtime {

namespace {

using base::Value;

bool contains(std::string_view text, std::string_view part) noexcept {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

// The content of an assistant's message: {"message":{"content":[…]}} or {"content":[…]}.
const Value::Array* find_content(const Value& object) {
  const Value* message = object.find("message");
  const Value* content = message != nullptr ? message->find("content") : object.find("content");
  return content != nullptr ? content->as_array() : nullptr;
}

std::string cut_text(const Value& object, std::string_view key) {
  return std::string(base::truncate_utf8(json::text_of(object, key), limits::reference_bytes));
}

}  // namespace

std::optional<std::string> find_tool_name(std::string_view message) {
  // RE2 runs in linear time for any message.
  static const re2::RE2 missing(
      R"((?i)\b(?:no such tool(?: available)?|unknown tool|unavailable tool|tool (?:is )?not (?:found|available)))"
      R"((?::\s*[`'"]?|\s+[`'"])([a-z_][\w.-]*))",
      re2::RE2::Quiet);
  static const re2::RE2 quoted(R"((?i)\btool\s+[`'"]([a-z_][\w.-]*)[`'"])", re2::RE2::Quiet);
  static const re2::RE2 invalid(R"(\b([A-Za-z_][\w.-]*) failed due to the following issue)", re2::RE2::Quiet);
  const re2::StringPiece text(message.data(), message.size());
  for (const re2::RE2* pattern : {&missing, &quoted, &invalid}) {
    std::string name;
    if (re2::RE2::PartialMatch(text, *pattern, &name)) {
      return std::string(base::truncate_utf8(name, limits::reference_bytes));
    }
  }
  return std::nullopt;
}

void ToolCalls::note(std::string_view line) {
  line = base::trim(line);
  if (line.size() > limits::line_bytes || !line.starts_with('{') || !contains(line, "\"tool_use\"")) return;
  const auto object = json::parse(line, {.bytes = limits::line_bytes});
  if (!object) return;
  add(*object);
  if (const Value::Array* content = find_content(*object)) {
    for (const Value& part : *content) add(part);
  }
}

void ToolCalls::add(const Value& object) {
  const bool is_call = json::text_of(object, "type") == "tool_use" || json::text_of(object, "event") == "tool_use";
  if (!is_call) return;
  Call call{cut_text(object, "id"), cut_text(object, "tool")};
  if (call.tool.empty()) call.tool = cut_text(object, "name");
  if (call.tool.empty()) return;
  calls_.push_back(std::move(call));
  if (calls_.size() > max_kept) calls_.pop_front();
}

std::optional<std::string> ToolCalls::find_tool(const ToolUseError& error) const {
  if (error.call_id) {
    const auto found = std::ranges::find(calls_.rbegin(), calls_.rend(), *error.call_id, &Call::id);
    if (found != calls_.rend()) return found->tool;
  }
  if (error.tool) return error.tool;
  // Nothing is known about an unknown call id.
  if (error.call_id || calls_.empty()) return std::nullopt;
  return calls_.back().tool;
}

}  // namespace reeve::runtime
