#include "runtime/notify/notice.h"

#include <array>
#include <string_view>
#include <utility>
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

// Begins with a fixed word, so that no program takes it for an option.
std::string summarize(const Notice& notice, const base::Value& data, const NoticeText& text) {
  const std::string tool = member(data, "tool", longest_name);
  if (notice.on == NotifyOn::approval_needed) {
    return fmt::format("{} {}: {}", is_reminder(data) ? "still waiting for an answer:" : "approval needed:", text.id,
                       text.question);
  }
  const std::string reason = member(data, "reason", longest_summary);
  return fmt::format("{}: {} ({}){}", text.event, tool, text.run, reason.empty() ? "" : ": " + reason);
}

}  // namespace

std::optional<Notice> find_notice(const ledger::StoredEvent& event) {
  if (event.kind == model::EventKind::approval_needed) return Notice{event.seq, NotifyOn::approval_needed};
  if (event.kind != model::EventKind::tool_status_change) return std::nullopt;
  const ledger::EventFacts facts = event.facts ? *event.facts : ledger::read_facts(event);
  const auto* status = std::get_if<model::RunStatus>(&facts.status);
  if (status == nullptr) return std::nullopt;
  if (*status == model::RunStatus::stalled) return Notice{event.seq, NotifyOn::stalled};
  const bool has_failed = *status == model::RunStatus::failed || *status == model::RunStatus::failed_timeout;
  return has_failed ? std::optional(Notice{event.seq, NotifyOn::failed}) : std::nullopt;
}

NoticeText describe_notice(const Notice& notice, const ledger::StoredEvent& event) {
  const base::Value data = json::parse(event.data).value_or(base::Value::object());
  NoticeText text{.event = std::string(base::spell(notice.on)),
                  .run = member(data, "tool_run_id", longest_name),
                  .question = member(data, "question", longest_question)};
  text.id = notice.on == NotifyOn::approval_needed ? member(data, "approval_id", longest_name) : text.run;
  text.summary = make_harmless(summarize(notice, data, text), longest_summary);
  return text;
}

std::vector<std::string> expand_command(const std::vector<std::string>& command, const NoticeText& text) {
  const std::array<std::pair<std::string_view, std::string_view>, 5> names = {{{"{summary}", text.summary},
                                                                               {"{event}", text.event},
                                                                               {"{id}", text.id},
                                                                               {"{run}", text.run},
                                                                               {"{question}", text.question}}};
  std::vector<std::string> words;
  for (std::string_view rest : command) {
    const bool is_option = rest.starts_with('-');
    std::string& word = words.emplace_back();
    while (!rest.empty()) {
      std::size_t taken = 1;
      std::string_view put = rest.substr(0, 1);
      for (const auto& [name, value] : names) {
        if (!rest.starts_with(name)) continue;
        taken = name.size();
        put = value;
      }
      word += put;
      rest.remove_prefix(taken);
    }
    if (!is_option && word.starts_with('-')) word.insert(0, 1, ' ');
  }
  return words;
}

}  // namespace reeve::runtime
