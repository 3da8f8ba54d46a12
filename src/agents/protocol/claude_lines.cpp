#include "agents/protocol/claude_lines.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "agents/protocol/json_line.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;
using json::text_of;

// Of a turn's denials, and of its models.
constexpr std::size_t max_listed = 1'000;
// Of numbers that are added up.
constexpr std::int64_t max_count = 1'000'000'000'000'000;

std::string cut_text(std::string_view text) { return std::string(base::truncate_utf8(text, max_event_text)); }

// A name or an id; empty if it is missing, of another type or too long.
std::string name_of(const Value& document, std::string_view key) {
  std::string name = text_of(document, key);
  if (name.size() > max_claude_name) name.clear();
  return name;
}

std::optional<std::string> optional_name(const Value& document, std::string_view key) {
  std::string name = name_of(document, key);
  return name.empty() ? std::nullopt : std::optional(std::move(name));
}

std::optional<bool> bool_of(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  const bool* flag = found != nullptr ? found->as_bool() : nullptr;
  return flag != nullptr ? std::optional(*flag) : std::nullopt;
}

// A number that is finite and not negative, whether it was written as a whole number or not.
std::optional<double> number_of(const Value& document, std::string_view key) {
  const Value* found = document.find(key);
  if (found == nullptr) return std::nullopt;
  double number = -1;
  if (const std::int64_t* whole = found->as_integer()) number = static_cast<double>(*whole);
  if (const double* any = found->as_number()) number = *any;
  return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> count_of(const Value& document, std::string_view key) {
  const auto number = number_of(document, key);
  if (!number) return std::nullopt;
  return static_cast<std::int64_t>(std::min(*number, static_cast<double>(max_count)));
}

const Value& member_of(const Value& document, std::string_view key) {
  static const Value nothing;
  const Value* found = document.find(key);
  return found != nullptr ? *found : nothing;
}

const Value::Array& list_of(const Value& document, std::string_view key) {
  static const Value::Array none;
  const Value::Array* list = member_of(document, key).as_array();
  return list != nullptr ? *list : none;
}

// The calls of subagents name the call that started the subagent, others null.
std::optional<std::string> parent_of(const Value& line) {
  const Value& parent = member_of(line, "parent_tool_use_id");
  if (parent.is_null()) return std::nullopt;
  // A parent that cannot be read is still one.
  return name_of(line, "parent_tool_use_id");
}

std::optional<TokenCounts> tokens_of(const ClaudeTraits& traits, const Value& document) {
  const Value& usage = member_of(document, "usage");
  const auto input = count_of(usage, "input_tokens");
  const auto output = count_of(usage, "output_tokens");
  if (!input && !output) return std::nullopt;
  TokenCounts counts{.input = input.value_or(0),
                     .output = output.value_or(0),
                     .cached = count_of(usage, "cache_read_input_tokens").value_or(0)};
  if (!traits.counts_cached_input) {
    counts.input += counts.cached + count_of(usage, "cache_creation_input_tokens").value_or(0);
  }
  return counts;
}

std::optional<base::WallTime> time_of(const Value& document, std::string_view key) {
  // From 2001 to 5138, so that milliseconds are not taken for seconds.
  constexpr std::int64_t first = 1'000'000'000;
  constexpr std::int64_t last = 99'999'999'999;
  const auto seconds = count_of(document, key);
  if (!seconds || *seconds < first || *seconds > last) return std::nullopt;
  return base::WallTime(std::chrono::seconds(*seconds));
}

// --- Lines of the type `system` ---

ClaudeLine read_init(const ClaudeTraits& traits, const Value& line) {
  InitLine init{.session = name_of(line, "session_id"),
                .mode = name_of(line, traits.mode_key),
                .version = optional_name(line, traits.version_key),
                .model = optional_name(line, "model")};
  if (!is_session_id(init.session)) init.session.clear();
  return init;
}

ClaudeLine read_retry(const Value& line) {
  RetryLine retry;
  const auto attempt = count_of(line, "attempt").value_or(0);
  retry.attempt = static_cast<int>(std::min<std::int64_t>(attempt, std::numeric_limits<int>::max()));
  retry.text = name_of(line, "error");
  if (const auto status = count_of(line, "error_status")) {
    retry.text += fmt::format("{}HTTP status {}", retry.text.empty() ? "" : ", ", *status);
  }
  return retry;
}

ClaudeLine read_system(const ClaudeTraits& traits, const Value& line) {
  const std::string subtype = text_of(line, "subtype");
  if (subtype == "init") return read_init(traits, line);
  if (subtype == "permission_denied") return DenialLine{name_of(line, "tool_use_id")};
  if (subtype == "api_retry") return read_retry(line);
  if (std::string mode = text_of(line, traits.mode_key); !mode.empty()) return ModeLine{std::move(mode)};
  return UnknownLine{};
}

// --- Messages ---

std::optional<ToolUse> read_tool_use(const Value& block) {
  ToolUse use{.call = name_of(block, "id"), .tool = name_of(block, "name"), .arguments = member_of(block, "input")};
  if (use.call.empty() || use.tool.empty() || use.arguments.as_object() == nullptr) return std::nullopt;
  return use;
}

ClaudeLine read_assistant(const ClaudeTraits& traits, const Value& line) {
  const Value& message = member_of(line, "message");
  AssistantLine assistant;
  assistant.message = name_of(message, "id");
  assistant.parent = parent_of(line);
  assistant.usage = tokens_of(traits, message);
  for (const Value& block : list_of(message, "content")) {
    const std::string type = text_of(block, "type");
    if (type == "text") {
      if (std::string text = cut_text(text_of(block, "text")); !text.empty()) {
        assistant.blocks.emplace_back(SaidText{std::move(text)});
      }
    } else if (type == "tool_use") {
      if (auto use = read_tool_use(block)) {
        assistant.blocks.emplace_back(std::move(*use));
      } else {
        ++assistant.unusable_calls;
      }
    }
  }
  return assistant;
}

std::set<std::string> refused_calls(const Value& line) {
  std::set<std::string> refused;
  for (const Value& meta : list_of(line, "tool_result_meta")) {
    const bool has_not_run = !text_of(meta, "non_execution_kind").empty();
    const bool was_rejected = text_of(member_of(meta, "permission_decision"), "decision") == "reject";
    if (has_not_run || was_rejected) refused.insert(name_of(meta, "id"));
  }
  return refused;
}

ClaudeLine read_user(const Value& line) {
  ResultsLine user;
  const std::set<std::string> refused = refused_calls(line);
  for (const Value& block : list_of(member_of(line, "message"), "content")) {
    if (text_of(block, "type") != "tool_result") continue;
    const Value& content = member_of(block, "content");
    const std::string* text = content.as_string();
    const std::string bytes = text != nullptr ? *text : content.is_null() ? "" : json::encode_canonical(content);
    ToolResult result{.call = name_of(block, "tool_use_id"),
                      .has_failed = bool_of(block, "is_error").value_or(false),
                      .digest = "sha256:" + base::sha256_hex(bytes),
                      .bytes = static_cast<std::int64_t>(bytes.size())};
    result.says_refused = refused.contains(result.call);
    user.results.push_back(std::move(result));
  }
  return user;
}

ClaudeLine read_stream(const Value& line) {
  const Value& event = member_of(line, "event");
  const std::string type = text_of(event, "type");
  StreamLine stream;
  stream.is_of_subagent = parent_of(line).has_value();
  if (type == "message_start") {
    stream.message = name_of(member_of(event, "message"), "id");
    return stream;
  }
  if (type == "content_block_start" && text_of(member_of(event, "content_block"), "type") == "tool_use") {
    stream.part = StreamLine::Part::call;
    return stream;
  }
  if (type != "message_stop") return UnknownLine{};
  stream.part = StreamLine::Part::end;
  return stream;
}

// --- The control protocol ---

ClaudeLine read_request(const Value& line) {
  const Value& request = member_of(line, "request");
  const std::string id = name_of(line, "request_id");
  // There is no way to answer it.
  if (id.empty()) return GarbageLine{};
  OtherRequestLine other{.request = id, .subtype = name_of(request, "subtype"), .problem = {}};
  if (other.subtype != "can_use_tool") return other;
  AskLine ask{.request = id,
              .call = name_of(request, "tool_use_id"),
              .tool = name_of(request, "tool_name"),
              .arguments = member_of(request, "input")};
  if (ask.call.empty()) other.problem = "the request names no call";
  if (ask.tool.empty()) other.problem = "the request names no tool";
  if (ask.arguments.as_object() == nullptr) other.problem = "the input of the tool is not an object";
  if (!other.problem.empty()) return other;
  return ask;
}

ClaudeLine read_response(const Value& line) {
  const Value& response = member_of(line, "response");
  ResponseLine answer;
  answer.request = name_of(response, "request_id");
  if (text_of(response, "subtype") != "success") {
    answer.error = cut_text(text_of(response, "error"));
    if (answer.error.empty()) answer.error = "no reason given";
  }
  const Value& content = member_of(response, "response");
  answer.mode = optional_name(content, "current_permission_mode");
  answer.knows_on_failure = bool_of(content, "hook_on_failure_supported");
  return answer;
}

// --- Limits, and the end of a turn ---

ClaudeLine read_limit(const Value& line) {
  const Value& info = member_of(line, "rate_limit_info");
  const std::string status = text_of(info, "status");
  if (status != "rejected" && status != "allowed_warning") return UnknownLine{};
  LimitLine limit;
  // With paid extra usage the model still answers.
  limit.is_reached = status == "rejected" && !bool_of(info, "isUsingOverage").value_or(false);
  limit.name = name_of(info, "rateLimitType");
  limit.resets_at = time_of(info, "resetsAt");
  // The service reports a share of one.
  if (const auto share = number_of(info, "utilization")) {
    limit.used_percent = std::min(100.0, *share <= 1 ? *share * 100 : *share);
  }
  return limit;
}

std::string turn_text(const Value& line) {
  if (std::string text = text_of(line, "result"); !text.empty()) return cut_text(text);
  if (std::string text = text_of(member_of(line, "error"), "message"); !text.empty()) return cut_text(text);
  std::string all;
  for (const Value& error : list_of(line, "errors")) {
    const std::string* text = error.as_string();
    if (text != nullptr && all.size() < max_event_text) all += (all.empty() ? "" : "\n") + *text;
  }
  return cut_text(all);
}

ClaudeLine read_turn(const ClaudeTraits& traits, const Value& line) {
  TurnLine turn;
  // `subtype` says "success" although a call of the model failed.
  turn.has_failed = bool_of(line, "is_error").value_or(true) || text_of(line, "subtype").starts_with("error");
  turn.is_deferred = text_of(line, "stop_reason") == "tool_deferred";
  turn.was_aborted = text_of(line, "terminal_reason").starts_with("aborted");
  turn.text = turn_text(line);
  turn.api_status = count_of(line, "api_error_status");
  turn.usage = tokens_of(traits, line);
  turn.cost_usd = number_of(line, "total_cost_usd");
  if (const Value::Object* models = member_of(line, "modelUsage").as_object()) {
    for (const base::Member& model : *models) {
      const auto window = count_of(model.value, "contextWindow");
      if (window && turn.windows.size() < max_listed) turn.windows.emplace_back(model.key, *window);
    }
  }
  for (const Value& denial : list_of(line, "permission_denials")) {
    std::string call = name_of(denial, "tool_use_id");
    if (!call.empty() && turn.refused.size() < max_listed) turn.refused.push_back(std::move(call));
  }
  return turn;
}

}  // namespace

bool is_session_id(std::string_view text) noexcept {
  if (text.empty() || text.size() > max_claude_name || text.front() == '-') return false;
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

ClaudeLine parse_claude_line(const ClaudeTraits& traits, std::string_view line) {
  const auto document = parse_json_line(line);
  if (!document) return GarbageLine{};
  const std::string type = text_of(*document, "type");
  if (type.empty()) return GarbageLine{};
  if (type == "system") return read_system(traits, *document);
  if (type == "assistant") return read_assistant(traits, *document);
  if (type == "user") return read_user(*document);
  if (type == "stream_event") return read_stream(*document);
  if (type == "control_request") return read_request(*document);
  if (type == "control_cancel_request") return CancelLine{name_of(*document, "request_id")};
  if (type == "control_response") return read_response(*document);
  if (type == "rate_limit_event") return read_limit(*document);
  if (type == "result") return read_turn(traits, *document);
  return UnknownLine{};
}

}  // namespace reeve::agents
