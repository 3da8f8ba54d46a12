#include "agents/protocol/codex_items.h"

#include <algorithm>
#include <array>

#include "agents/protocol/json_members.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_type = 64;

// Items of 0.166 that touch nothing.
constexpr auto harmless_items =
    std::to_array<std::string_view>({"userMessage", "hookPrompt", "agentMessage", "plan", "reasoning", "sleep",
                                     "enteredReviewMode", "exitedReviewMode", "contextCompaction"});
// Members that describe the item rather than the call.
constexpr auto bookkeeping = std::to_array<std::string_view>(
    {"id", "type", "status", "startedAtMs", "completedAtMs", "durationMs", "processId", "pluginId", "scriptPath"});
// Members of a request that its answer must not grant together with the call.
constexpr auto further_grants =
    std::to_array<std::string_view>({"networkApprovalContext", "grantRoot", "additionalPermissions"});

bool lists(const auto& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

Value picked(const Value& item, std::initializer_list<std::string_view> keys) {
  Value picked = Value::object();
  for (const std::string_view key : keys) {
    const Value& value = member_of(item, key);
    if (!value.is_null()) picked.set(key, value);
  }
  return picked;
}

Value without_bookkeeping(const Value& item) {
  Value rest = Value::object();
  for (const base::Member& member : members_of(item)) {
    if (!lists(bookkeeping, member.key)) rest.set(member.key, member.value);
  }
  return rest;
}

std::string call_of(const Value& item) {
  std::string id = id_text_of(item, "id");
  // A result must be counted even if it does not say of what.
  return id.empty() ? "no-id" : id;
}

Value arguments_of(const std::string& type, const Value& item) {
  if (type == codex_command_item) return picked(item, {"command", "cwd"});
  if (type == codex_change_item) return picked(item, {"changes"});
  if (type == "mcpToolCall") return picked(item, {"server", "tool", "arguments"});
  return without_bookkeeping(item);
}

// The agent's reason for asking, which the person sees.
void add_reason(const Value& params, Value& arguments) {
  const Value& reason = member_of(params, "reason");
  const std::string* text = reason.as_string();
  if (text != nullptr && !text->empty()) arguments.set("reason", Value::string(event_text(*text)));
}

bool grants_more(const Value& params) {
  return std::ranges::any_of(further_grants, [&](std::string_view key) { return !member_of(params, key).is_null(); });
}

}  // namespace

std::optional<CodexCall> find_codex_call(const Value& item) {
  if (item.as_object() == nullptr) return std::nullopt;
  const std::string type = json::text_of(item, "type");
  if (lists(harmless_items, type)) return std::nullopt;
  const bool is_named = !type.empty() && type.size() <= max_type;
  return CodexCall{.call = call_of(item), .tool = is_named ? type : "unknown", .arguments = arguments_of(type, item)};
}

CallEnded describe_codex_end(const Value& item) {
  const std::string status = json::text_of(item, "status");
  CallEnded ended{.call = call_of(item)};
  ended.was_refused = status == "declined";
  // Items without a status, such as a web search, only say that they are over.
  ended.has_failed = !status.empty() && status != "completed";
  const std::string* output = member_of(item, "aggregatedOutput").as_string();
  const bool is_command = json::text_of(item, "type") == codex_command_item;
  ValueDigest digest =
      digest_of(is_command ? picked(item, {"exitCode", "aggregatedOutput"}) : without_bookkeeping(item));
  ended.digest = std::move(digest.digest);
  ended.bytes = is_command ? static_cast<std::int64_t>(output != nullptr ? output->size() : 0) : digest.bytes;
  return ended;
}

std::optional<CodexQuestion> read_command_question(const Value& params, const Value& known) {
  const std::string item = id_text_of(params, "itemId");
  const Value& kind = member_of(params, "kind");
  // The other kind types into a running command, and the request does not say what.
  const bool is_command = kind.is_null() || (kind.as_string() != nullptr && *kind.as_string() == "command");
  // Several requests with ids of their own belong to one item; which part of the command each is about is not said.
  const bool is_part = !member_of(params, "approvalId").is_null();
  if (item.empty() || !is_command || is_part || grants_more(params)) return std::nullopt;
  const Value& asked = member_of(params, "command");
  const Value& command = asked.is_null() ? member_of(known, "command") : asked;
  if (command.as_string() == nullptr || command.as_string()->empty()) return std::nullopt;
  // The person would be shown one command and see another one run.
  const Value& announced = member_of(known, "command");
  if (!announced.is_null() && announced != command) return std::nullopt;
  const Value& source = member_of(params, "cwd").is_null() ? known : params;
  const auto cwd = find_absolute_path(source, "cwd");
  if (!cwd) return std::nullopt;
  Value arguments = Value::object({{"command", command}, {"cwd", Value::string(*cwd)}});
  const std::string environment = id_text_of(params, "environmentId");
  // Another machine or container, which no rule of this one is about.
  if (!environment.empty() && environment != "local") arguments.set("environment", Value::string(environment));
  add_reason(params, arguments);
  return CodexQuestion{
      .call = {.call = item, .tool = std::string(codex_command_item), .arguments = std::move(arguments)}, .cwd = cwd};
}

std::optional<CodexQuestion> read_change_question(const Value& params, const Value& known) {
  const std::string item = id_text_of(params, "itemId");
  const Value& changes = member_of(known, "changes");
  if (item.empty() || grants_more(params) || elements_of(changes).empty()) return std::nullopt;
  Value arguments = Value::object({{"changes", changes}});
  add_reason(params, arguments);
  return CodexQuestion{
      .call = {.call = item, .tool = std::string(codex_change_item), .arguments = std::move(arguments)},
      .cwd = std::nullopt};
}

std::optional<Value> find_codex_refusal(std::string_view method) {
  if (method == codex_command_request || method == codex_change_request) return make_codex_decision(false);
  // The shapes of the other requests are those of 0.166's own schema; only these two were seen.
  if (method == "item/permissions/requestApproval") {
    return Value::object({{"permissions", Value::object()}, {"scope", Value::string("turn")}});
  }
  if (method == "item/tool/requestUserInput") return Value::object({{"answers", Value::object()}});
  if (method == "mcpServer/elicitation/request") {
    return Value::object({{"action", Value::string("decline")}, {"content", Value()}});
  }
  if (method == "item/tool/call") {
    return Value::object({{"contentItems", Value::array()}, {"success", Value::boolean(false)}});
  }
  if (method == "execCommandApproval" || method == "applyPatchApproval") {
    Value denied = Value::object({{"rejection", Value::string("Reeve does not answer this request")}});
    return Value::object({{"decision", Value::object({{"denied", std::move(denied)}})}});
  }
  return std::nullopt;
}

Value make_codex_decision(bool is_allowed) {
  // Never `acceptForSession`: each call is asked about.
  return Value::object({{"decision", Value::string(is_allowed ? "accept" : "decline")}});
}

}  // namespace reeve::agents
