#include "view/call_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/encode.h"
#include "view/patch_text.h"
#include "view/project_names.h"
#include "view/run_text.h"
#include "view/safe_text.h"

namespace reeve::view {

namespace {

using base::Value;
using base::WallTime;
using model::CallDecision;
using model::CallOutcome;
using model::ToolCall;

constexpr std::size_t subject_columns = 60;
constexpr std::size_t decision_columns = 44;
constexpr std::size_t key_columns = 17;
constexpr std::size_t max_argument_lines = 200;

std::optional<std::vector<std::string>> find_words(const Value& arguments, std::string_view key) {
  const Value* found = arguments.find(key);
  if (found == nullptr || found->as_array() == nullptr) return std::nullopt;
  auto words = json::from_value<std::vector<std::string>>(*found);
  return words ? std::optional(std::move(*words)) : std::nullopt;
}

const std::string* find_text(const Value& arguments, std::string_view key) {
  const Value* found = arguments.find(key);
  return found != nullptr ? found->as_string() : nullptr;
}

// "by ana", "by GR-3"; empty if a rule decided alone.
std::string decider_text(const ToolCall& call) {
  if (call.grant_id) return "by " + call.grant_id->text();
  return call.decided_by ? "by " + base::visible(*call.decided_by) : std::string();
}

// An argument that is a diff, by its content: agents name it in many ways.
bool is_diff(std::string_view text) {
  return text.starts_with("diff --git ") || text.starts_with("--- ") || text.starts_with("*** Begin Patch") ||
         text.contains("\n@@ ") || text.starts_with("@@ ");
}

std::vector<std::string> value_lines(std::string_view key, const Value& value, const Style& style) {
  if (const std::string* text = value.as_string()) {
    if (!is_diff(*text)) {
      // The parts of an edit, as in a diff.
      const bool is_old = key == "old_string" || key == "old_str" || key == "old_text";
      const bool is_new = key == "new_string" || key == "new_str" || key == "new_text";
      std::vector<std::string> lines = exact_lines(*text);
      if (!is_old && !is_new) return lines;
      for (std::string& line : lines) {
        line = style.paint(is_old ? Tint::red : Tint::green, (is_old ? "- " : "+ ") + line);
      }
      return lines;
    }
    std::vector<std::string> lines;
    const std::string diff = diff_text(*text, style);
    for (const std::string_view line : base::split(diff, '\n')) lines.emplace_back(line);
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }
  const auto words = json::from_value<std::vector<std::string>>(value);
  if (words && key == "argv") return {base::visible(command_text(*words))};
  std::vector<std::string> lines;
  const std::string text = json::encode_pretty(value);
  for (const std::string_view line : base::split(text, '\n')) lines.push_back(base::visible(line));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

void add_bounded(std::vector<std::string>& to, std::vector<std::string> lines, const Style& style, std::size_t most) {
  const std::size_t cut = lines.size() > most ? lines.size() - most : 0;
  lines.resize(lines.size() - cut);
  for (std::string& line : lines) to.push_back("  " + std::move(line));
  if (cut == 0) return;
  to.push_back(
      style.paint(Tint::dim, fmt::format("  {} {} more line{}", style.pick("…", "..."), cut, cut == 1 ? "" : "s")));
}

}  // namespace

std::string call_subject(const Value& arguments) {
  if (const auto argv = find_words(arguments, "argv")) return base::visible(command_text(*argv));
  for (const std::string_view key : {"command", "path", "file_path", "url", "pattern", "query"}) {
    if (const std::string* text = find_text(arguments, key)) return base::visible(*text);
  }
  if (const auto paths = find_words(arguments, "paths")) return base::visible(base::join(*paths, " "));
  const Value::Object* members = arguments.as_object();
  return members == nullptr || members->empty() ? std::string() : base::visible(json::encode(arguments));
}

std::string call_decision(const ToolCall& call) {
  std::string text(base::spell(call.decision));
  if (call.decision != CallDecision::ask) return fmt::format("{}: {}", text, base::visible(call.rule));
  if (call.approval_id) text += " " + call.approval_id->text();
  if (!call.answer) return fmt::format("{}: {}", text, base::visible(call.rule));
  text += call.answer == CallDecision::allow ? ", allowed" : ", denied";
  const std::string by = decider_text(call);
  return by.empty() ? text : text + " " + by;
}

std::string call_outcome(const ToolCall& call) {
  if (call.outcome) return std::string(base::spell(*call.outcome));
  if (!call.answer) return "waiting";
  return call.answer == CallDecision::allow ? "allowed" : "denied";
}

Look look_of(const ToolCall& call) noexcept {
  if (!call.outcome) {
    if (!call.answer) return look_of(model::ApprovalStatus::pending);
    if (call.answer == CallDecision::allow) return {"●", ">", Tint::cyan};
    return {"✗", "x", Tint::red};
  }
  switch (*call.outcome) {
    case CallOutcome::ran:
      return {"✓", "+", Tint::green};
    case CallOutcome::failed:
    case CallOutcome::denied:
      return {"✗", "x", Tint::red};
    case CallOutcome::deferred:
      return look_of(model::ApprovalStatus::pending);
    case CallOutcome::lost:
    case CallOutcome::ungated:
      return {"▲", "!", Tint::magenta};
    case CallOutcome::withdrawn:
      return {"⊘", "-", Tint::dim};
  }
  return {"?", "?", Tint::dim};
}

Table calls_table(const std::vector<ToolCall>& calls, const Style& style, std::optional<WallTime> now) {
  if (!now) {
    Table table({"ID", "RUN", "TIME", "TOOL", "WHAT", "DECISION", "RULE", "ANSWER", "BY", "OUTCOME", "PROJECT"});
    for (const ToolCall& call : calls) {
      table.add({call.call_id.text(), call.tool_run_id.text(), base::format_time(call.asked_at), call.tool,
                 call_subject(call.arguments), std::string(base::spell(call.decision)), call.rule,
                 call.answer ? std::string(base::spell(*call.answer)) : "",
                 call.grant_id ? call.grant_id->text() : call.decided_by.value_or(""), call_outcome(call),
                 path_text(call.project)});
    }
    return table;
  }
  Table table({"ID", "RUN", "AGE", "TOOL", "WHAT", "DECISION", "OUTCOME", "PROJECT"});
  table.shorten_first(4);
  ProjectNames projects;
  projects.add_all(calls);
  const auto fit = [&](const std::string& text, std::size_t columns) {
    return base::fit_width(text, columns, style.ascii);
  };
  for (const ToolCall& call : calls) {
    const Look look = look_of(call);
    table.add({{call.call_id.text()},
               {call.tool_run_id.text()},
               {age_text(*now - call.asked_at)},
               {base::visible(call.tool)},
               {fit(call_subject(call.arguments), subject_columns)},
               {fit(call_decision(call), decision_columns)},
               {fmt::format("{} {}", style.pick(look.sign, look.ascii), call_outcome(call)), look.tint},
               {projects.of(call.project)}});
  }
  return table;
}

std::vector<std::string> argument_lines(const Value& arguments, const Style& style, std::size_t most) {
  std::vector<std::string> lines;
  const Value::Object* members = arguments.as_object();
  if (members == nullptr) {
    add_bounded(lines, {base::visible(json::encode(arguments))}, style, most);
    return lines;
  }
  for (const base::Member& member : *members) {
    if (member.value.is_null()) continue;
    std::vector<std::string> values = value_lines(member.key, member.value, style);
    const std::string name = base::visible(member.key);
    if (values.size() == 1 && !values.front().starts_with('\x1b')) {
      lines.push_back(fmt::format("{}: {}", name, values.front()));
      continue;
    }
    lines.push_back(name + ":");
    add_bounded(lines, std::move(values), style, most);
  }
  return lines;
}

std::string call_details(const ToolCall& call, const Style& style, std::optional<WallTime> now) {
  std::string text;
  const auto head = [&](std::string_view key) {
    return style.paint(Tint::dim, fmt::format("{:<{}}", key, key_columns));
  };
  const auto line = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    text += now ? fmt::format("{}{}\n", head(key), base::visible(value))
                : fmt::format("{}\t{}\n", key, base::visible(value));
  };
  const auto time = [&](std::string_view key, const std::optional<WallTime>& moment) {
    if (!moment) return;
    line(key, now ? fmt::format("{} ({} ago)", base::format_time(*moment), age_text(*now - *moment))
                  : base::format_time(*moment));
  };
  const auto id = [](const auto& value) { return value ? value->text() : std::string(); };
  const auto word = [](const auto& value) { return value ? std::string(base::spell(*value)) : std::string(); };
  if (now) {
    const Look look = look_of(call);
    text += fmt::format(
        "{}  {}  {}\n\n", style.paint(Tint::bold, call.call_id.text()), base::visible(call.tool),
        style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), call_outcome(call))));
    const std::vector<std::string> lines = argument_lines(call.arguments, style, max_argument_lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += fmt::format("{}{}\n", head(i == 0 ? "arguments" : ""), lines[i]);
    }
  } else {
    line("call_id", call.call_id.text());
    line("tool", call.tool);
    line("arguments", json::encode(call.arguments));
  }
  line("cwd", call.cwd);
  line("native_tool", call.native_tool == call.tool ? "" : call.native_tool);
  line("decision", std::string(base::spell(call.decision)));
  line("rule", call.rule);
  line("reason", call.reason.value_or(""));
  line("approval_id", id(call.approval_id));
  line("grant_id", id(call.grant_id));
  line("answer", word(call.answer));
  line("decided_by", call.decided_by.value_or(""));
  line("outcome", word(call.outcome));
  line("duration_ms", call.duration_ms ? fmt::format("{}", *call.duration_ms) : "");
  line("result_bytes", call.result_bytes ? fmt::format("{}", *call.result_bytes) : "");
  line("result_digest", call.result_digest.value_or(""));
  time("asked_at", call.asked_at);
  time("answered_at", call.answered_at);
  line("channel", std::string(base::spell(call.channel)));
  line("tool_run_id", call.tool_run_id.text());
  line("attempt", fmt::format("{}", call.attempt));
  line("session_id", call.session_id.value_or(""));
  line("native_id", call.native_id);
  line("parent_native_id", call.parent_native_id.value_or(""));
  line("arguments_digest", call.arguments_digest);
  line("project", path_text(call.project));
  return text;
}

}  // namespace reeve::view
