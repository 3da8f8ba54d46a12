#include "runtime/notify/notice.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "base/invisible.h"
#include "base/text.h"
#include "json/parse.h"

namespace reeve::runtime {

namespace {

using model::NotifyOn;

constexpr std::size_t longest_summary = 300;
constexpr std::size_t longest_question = 2'000;
constexpr std::size_t longest_name = 100;

// Makes a single line: spaces for line breaks, control characters removed, invisible characters spelled out.
std::string make_harmless(std::string_view text, std::size_t longest) {
  // The rest would be cut off anyway.
  const std::string valid = base::replace_invalid_utf8(base::truncate_utf8(text, 4 * longest));
  std::string line;
  for (std::string_view rest = valid; !rest.empty();) {
    const base::Character character = base::first_character(rest);
    const char first = rest.front();
    const bool is_blank = first == ' ' || first == '\t' || first == '\n' || first == '\r';
    if (is_blank) {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else if (!base::is_harmful(character.value)) {
      const std::string_view bytes = rest.substr(0, character.length);
      line += base::is_invisible(character.value) ? base::visible(bytes) : std::string(bytes);
    }
    rest.remove_prefix(character.length);
  }
  while (line.ends_with(' ')) line.pop_back();
  if (line.size() <= longest) return line;
  return std::string(base::truncate_utf8(line, longest)) + "…";
}

std::string member(const base::Value& data, std::string_view key, std::size_t longest) {
  const base::Value* found = data.find(key);
  const bool is_text = found != nullptr && found->as_string() != nullptr;
  return is_text ? make_harmless(*found->as_string(), longest) : std::string();
}

bool is_reminder(const base::Value& data) {
  const base::Value* found = data.find("reminder");
  return found != nullptr && found->as_bool() != nullptr && *found->as_bool();
}

// "exit 2: error: boom", as listings say it; otherwise the stored reason.
std::string reason_of(const base::Value& data) {
  const std::string reason = member(data, "reason", longest_summary);
  const base::Value* code = data.find("exit_code");
  const bool has_code = code != nullptr && code->as_integer() != nullptr;
  std::string text = has_code && reason.starts_with("exit_code") ? fmt::format("exit {}", *code->as_integer()) : reason;
  const std::string error = member(data, "last_error", longest_summary);
  if (!error.empty() && !text.contains(error)) text += (text.empty() ? "" : ": ") + error;
  return text;
}

bool is_about_run(const ledger::StoredEvent& event) { return event.kind == model::EventKind::tool_status_change; }

// "Failed: aider (TR-3)", "Completed: EX-9". Begins with a fixed word, like the summary.
std::string make_title(const Notice& notice, const base::Value& data, const NoticeText& text) {
  if (notice.on == NotifyOn::approval_needed) {
    return fmt::format("{} ({})", is_reminder(data) ? "Still waiting for an answer" : "Approval needed", text.id);
  }
  const std::string tool = member(data, "tool", longest_name);
  std::string word = text.event;
  word.front() = base::to_ascii_upper(word.substr(0, 1)).front();
  return tool.empty() ? fmt::format("{}: {}", word, text.id) : fmt::format("{}: {} ({})", word, tool, text.id);
}

std::string name_of_folder(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// One line each: the question or the reason, what it belongs to, and the command that shows more.
std::string make_body(const Notice& notice, const base::Value& data, const NoticeText& text) {
  std::vector<std::string> lines;
  const bool is_question = notice.on == NotifyOn::approval_needed;
  lines.push_back(is_question ? text.question : reason_of(data));
  std::vector<std::string> about;
  if (is_question && !text.run.empty())
    about.push_back(fmt::format("{} ({})", member(data, "tool", longest_name), text.run));
  const std::string caller = is_question ? member(data, "asked_by", longest_name) : std::string();
  if (!caller.empty()) about.push_back(caller);
  if (!text.execution.empty() && text.execution != text.id) about.push_back(text.execution);
  const std::string project = name_of_folder(member(data, "project", longest_summary));
  if (!project.empty()) about.push_back(fmt::format("project {}", project));
  lines.push_back(base::join(about, ", "));
  const bool has_log = notice.on == NotifyOn::failed && !text.run.empty();
  lines.push_back(fmt::format("reeve {} {}", has_log ? "logs" : "show", text.id));
  std::erase(lines, std::string());
  return base::join(lines, "\n");
}

// Begins with a fixed word, so that no program takes it for an option.
std::string summarize(const Notice& notice, const base::Value& data, const NoticeText& text) {
  const std::string tool = member(data, "tool", longest_name);
  if (notice.on == NotifyOn::approval_needed) {
    return fmt::format("{} {}: {}", is_reminder(data) ? "still waiting for an answer:" : "approval needed:", text.id,
                       text.question);
  }
  const std::string reason = reason_of(data);
  const std::string subject = tool.empty() ? text.id : fmt::format("{} ({})", tool, text.id);
  return fmt::format("{}: {}{}", text.event, subject, reason.empty() ? "" : ": " + reason);
}

// Reports the end of a run only outside of executions, and of an execution only if nothing else waits for it: the
// others are steps. A failed run is always reported, because a person may have to act on it.
std::optional<NotifyOn> find_kind(model::EventKind kind, const ledger::EventFacts& facts) {
  if (const auto* status = std::get_if<model::ExecutionStatus>(&facts.status)) {
    if (kind != model::EventKind::execution_status_change || facts.is_child) return std::nullopt;
    if (*status == model::ExecutionStatus::completed) return NotifyOn::completed;
    return *status == model::ExecutionStatus::failed ? std::optional(NotifyOn::failed) : std::nullopt;
  }
  const auto* status = std::get_if<model::RunStatus>(&facts.status);
  if (status == nullptr || kind != model::EventKind::tool_status_change) return std::nullopt;
  if (*status == model::RunStatus::stalled) return NotifyOn::stalled;
  if (*status == model::RunStatus::completed && !facts.execution) return NotifyOn::completed;
  const bool has_failed = *status == model::RunStatus::failed || *status == model::RunStatus::failed_timeout;
  return has_failed ? std::optional(NotifyOn::failed) : std::nullopt;
}

}  // namespace

std::optional<Notice> find_notice(const ledger::StoredEvent& event) {
  if (event.kind == model::EventKind::approval_needed) return Notice{event.seq, NotifyOn::approval_needed};
  const bool has_status = is_about_run(event) || event.kind == model::EventKind::execution_status_change;
  if (!has_status) return std::nullopt;
  const auto on = find_kind(event.kind, event.facts ? *event.facts : ledger::read_facts(event));
  return on ? std::optional(Notice{event.seq, *on}) : std::nullopt;
}

NoticeText describe_notice(const Notice& notice, const ledger::StoredEvent& event) {
  const base::Value data = json::parse(event.data).value_or(base::Value::object());
  NoticeText text{.event = std::string(base::spell(notice.on)),
                  .run = member(data, "tool_run_id", longest_name),
                  .execution = member(data, "execution_id", longest_name),
                  .question = member(data, "question", longest_question)};
  text.id = text.run.empty() ? text.execution : text.run;
  if (notice.on == NotifyOn::approval_needed) text.id = member(data, "approval_id", longest_name);
  text.summary = make_harmless(summarize(notice, data, text), longest_summary);
  text.title = make_title(notice, data, text);
  text.body = make_body(notice, data, text);
  return text;
}

NoticeText describe_test() {
  return {.summary = "test: notifications of Reeve arrive here",
          .title = "Test of Reeve",
          .body = "Notifications of Reeve arrive here.",
          .event = "test"};
}

namespace {

const std::string& value_of(const NoticeText& text, std::string_view name) {
  // In the order of model::notify_placeholders.
  const std::array values = {&text.summary, &text.title, &text.body,      &text.event,
                             &text.id,      &text.run,   &text.execution, &text.question};
  static_assert(std::tuple_size_v<decltype(values)> == model::notify_placeholders.size());
  const auto found = std::ranges::find(model::notify_placeholders, name);
  return *values.at(static_cast<std::size_t>(found - model::notify_placeholders.begin()));
}

}  // namespace

std::vector<std::string> expand_command(const std::vector<std::string>& command, const NoticeText& text) {
  std::vector<std::string> words;
  for (std::string_view rest : command) {
    const bool is_option = rest.starts_with('-');
    std::string& word = words.emplace_back();
    bool is_shell = false;
    while (!rest.empty()) {
      std::size_t taken = 1;
      std::string_view put = rest.substr(0, 1);
      const std::size_t close = rest.find('}');
      if (rest.front() == '{' && close != std::string_view::npos && !is_shell) {
        const std::string_view name = rest.substr(1, close - 1);
        if (std::ranges::find(model::notify_placeholders, name) != model::notify_placeholders.end()) {
          taken = close + 1;
          put = value_of(text, name);
        }
      }
      is_shell = rest.front() == '$';
      word += put;
      rest.remove_prefix(taken);
    }
    if (!is_option && word.starts_with('-')) word.insert(0, 1, ' ');
  }
  return words;
}

}  // namespace reeve::runtime
