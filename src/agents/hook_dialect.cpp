#include "agents/hook_dialect.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_name = 256;
constexpr std::size_t max_path = 4096;
constexpr std::size_t max_reason = 4096;

constexpr std::string_view permission_request = "PermissionRequest";

// The names that a dialect has for its events.
struct EventNames {
  // The event before each tool.
  std::string_view gate;
  std::string_view result;
  std::string_view failure;
  // Asked only where the agent would ask its user.
  bool has_permission_request;
};

constexpr EventNames names_of(HookDialect dialect) {
  switch (dialect) {
    case HookDialect::claude:
    case HookDialect::qwen:
      return {"PreToolUse", "PostToolUse", "PostToolUseFailure", true};
    case HookDialect::codex:
      return {"PreToolUse", "PostToolUse", "", false};
    case HookDialect::gemini:
      return {"BeforeTool", "AfterTool", "", false};
  }
  return {};
}

// Events of any dialect that gate nothing. Others are unknown: they may be the gate of a later version.
bool is_harmless(std::string_view event) {
  static constexpr auto names =
      std::to_array<std::string_view>({"SessionStart", "SessionEnd",    "UserPromptSubmit",   "Stop",
                                       "StopFailure",  "SubagentStart", "SubagentStop",       "PreCompact",
                                       "PostCompact",  "PreCompress",   "Notification",       "BeforeAgent",
                                       "AfterAgent",   "BeforeModel",   "AfterModel",         "BeforeToolSelection",
                                       "Setup",        "ConfigChange",  "InstructionsLoaded", "Interrupt"});
  return std::ranges::find(names, event) != names.end();
}

HookFault fault(std::string reason) { return {"reeve hook: " + std::move(reason)}; }

// A text that must be there, within its bound; on failure `reason` says what is wrong.
bool read_text(const Value& input, std::string_view key, std::size_t max_bytes, std::string& text,
               std::string& reason) {
  const Value* found = input.find(key);
  if (found == nullptr || found->is_null()) {
    reason = fmt::format("the input has no `{}`", key);
    return false;
  }
  const std::string* word = found->as_string();
  if (word == nullptr) {
    reason = fmt::format("`{}` is {}, not a string", key, found->kind());
    return false;
  }
  if (word->empty() || word->size() > max_bytes) {
    reason = fmt::format("`{}` is {}", key, word->empty() ? "empty" : fmt::format("longer than {} bytes", max_bytes));
    return false;
  }
  text = *word;
  return true;
}

// The members in which the dialect names a call, the one that its other channels use first.
std::initializer_list<std::string_view> call_keys(HookDialect dialect) {
  static constexpr std::initializer_list<std::string_view> of_qwen = {"tool_call_id", "tool_use_id"};
  static constexpr std::initializer_list<std::string_view> of_others = {"tool_use_id"};
  static constexpr std::initializer_list<std::string_view> none = {};
  if (dialect == HookDialect::gemini) return none;
  return dialect == HookDialect::qwen ? of_qwen : of_others;
}

const Value* find_call(HookDialect dialect, const Value& input, std::string_view& key) {
  for (const std::string_view name : call_keys(dialect)) {
    key = name;
    if (const Value* found = input.find(name); found != nullptr && !found->is_null()) return found;
  }
  return nullptr;
}

HookInput read_gate(HookDialect dialect, const Value& input, const std::string& event, std::string_view new_call) {
  GateEvent gate{.event = event, .request = {}};
  wire::CallRequest& request = gate.request;
  std::string reason;
  if (!read_text(input, "tool_name", max_name, request.tool, reason)) return fault(reason);
  const Value* arguments = input.find("tool_input");
  if (arguments == nullptr) return fault("the input has no `tool_input`");
  if (arguments->as_object() == nullptr)
    return fault(fmt::format("`tool_input` is {}, not an object", arguments->kind()));
  request.arguments = *arguments;
  std::string cwd;
  if (!read_text(input, "cwd", max_path, cwd, reason)) return fault(reason);
  if (!cwd.starts_with('/')) return fault("`cwd` is not an absolute path");
  request.cwd = std::move(cwd);
  std::string session;
  if (!read_text(input, "session_id", max_name, session, reason)) return fault(reason);
  request.session = std::move(session);
  std::string_view key;
  if (find_call(dialect, input, key) != nullptr) {
    if (!read_text(input, key, max_name, request.call, reason)) return fault(reason);
  } else if (key.empty() || event == permission_request) {
    request.call = new_call;
  } else {
    return fault(fmt::format("the input has no `{}`", key));
  }
  request.channel = model::CallChannel::hook;
  request.dialect = std::string(base::spell(dialect));
  return gate;
}

bool says_failed(const Value& response) {
  for (const std::string_view key : {"is_error", "isError"}) {
    const Value* found = response.find(key);
    const bool* flag = found != nullptr ? found->as_bool() : nullptr;
    if (flag != nullptr && *flag) return true;
  }
  return false;
}

HookInput read_result(HookDialect dialect, const Value& input, const std::string& event, bool has_failed) {
  std::string_view key;
  const Value* call = find_call(dialect, input, key);
  const std::string* name = call != nullptr ? call->as_string() : nullptr;
  // Nothing is decided here, so that a result without an id is only not reported.
  if (name == nullptr || name->empty() || name->size() > max_name) return OtherEvent{event};
  ResultEvent result{.call = *name, .report = {.failed = has_failed}};
  if (const Value* response = input.find("tool_response")) {
    result.report.failed = has_failed || says_failed(*response);
    const std::string text = json::encode_canonical(*response);
    result.report.digest = "sha256:" + base::sha256_hex(text);
    result.report.bytes = static_cast<std::int64_t>(text.size());
  }
  result.report.duration_ms = json::integer_of(input, "duration_ms");
  return result;
}

// What a model reads: bounded and valid.
std::string shown(std::string_view reason) {
  std::string text = base::replace_invalid_utf8(base::truncate_utf8(reason, max_reason));
  return text.empty() ? "denied" : text;
}

HookAnswer print(const Value& document) { return {.out = json::encode(document) + "\n", .err = {}, .exit_code = 0}; }

Value specific_output(std::string_view event) { return Value::object({{"hookEventName", Value::string(event)}}); }

HookAnswer print_specific(Value specific) {
  return print(Value::object({{"hookSpecificOutput", std::move(specific)}}));
}

// The shape that Claude Code defined, and Codex and Qwen Code took over.
HookAnswer claude_answer(std::string_view event, std::string_view decision, const std::string& reason) {
  Value specific = specific_output(event);
  if (event != permission_request) {
    specific.set("permissionDecision", Value::string(decision));
    specific.set("permissionDecisionReason", Value::string(reason));
    return print_specific(std::move(specific));
  }
  Value verdict = Value::object({{"behavior", Value::string(decision)}});
  if (decision == "deny") verdict.set("message", Value::string(reason));
  specific.set("decision", std::move(verdict));
  return print_specific(std::move(specific));
}

}  // namespace

HookInput parse_hook_input(HookDialect dialect, std::string_view bytes, std::string_view new_call) {
  if (bytes.size() > max_hook_input) return fault("the input is larger than 16 MiB");
  const auto input = json::parse(bytes, {.bytes = max_hook_input});
  if (!input) return fault("the input is not valid JSON: " + input.error().text());
  if (input->as_object() == nullptr) return fault(fmt::format("the input is {}, not an object", input->kind()));
  std::string event;
  std::string reason;
  if (!read_text(*input, "hook_event_name", max_name, event, reason)) return fault(reason);
  const EventNames names = names_of(dialect);
  if (event == names.gate) return read_gate(dialect, *input, event, new_call);
  if (names.has_permission_request && event == permission_request) {
    return read_gate(dialect, *input, event, new_call);
  }
  if (event == names.result) return read_result(dialect, *input, event, false);
  if (event == names.failure) return read_result(dialect, *input, event, true);
  if (is_harmless(event)) return OtherEvent{event};
  return fault(fmt::format("{} is not an event of {} that Reeve knows", base::quoted(event), base::spell(dialect)));
}

HookAnswer make_allow(HookDialect dialect, std::string_view event, std::string_view reason) {
  switch (dialect) {
    case HookDialect::claude:
    case HookDialect::qwen:
      return claude_answer(event, "allow", base::replace_invalid_utf8(base::truncate_utf8(reason, max_reason)));
    case HookDialect::codex:
      // Codex takes a plain allow for a failed hook.
      return make_no_opinion();
    case HookDialect::gemini:
      return print(Value::object({{"decision", Value::string("allow")}}));
  }
  return make_block("unknown dialect");
}

HookAnswer make_deny(HookDialect dialect, std::string_view event, std::string_view reason) {
  const std::string text = shown(reason);
  if (dialect != HookDialect::gemini) return claude_answer(event, "deny", text);
  return print(Value::object({{"decision", Value::string("deny")}, {"reason", Value::string(text)}}));
}

HookAnswer make_defer(HookDialect dialect, std::string_view event, std::string_view reason) {
  const bool can_defer = dialect == HookDialect::claude && event != permission_request;
  return can_defer ? claude_answer(event, "defer", shown(reason)) : make_deny(dialect, event, reason);
}

HookAnswer make_block(std::string_view reason) {
  return {.out = {}, .err = shown(reason) + "\n", .exit_code = blocking_exit_code};
}

HookAnswer make_no_opinion() { return {}; }

}  // namespace reeve::agents
