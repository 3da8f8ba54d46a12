#include "runtime/gate/call_question.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"

namespace reeve::runtime {

namespace {

using base::Value;

constexpr std::size_t max_headline = 200;
constexpr std::size_t max_said_lines = 12;
constexpr std::size_t max_depth = 32;
constexpr std::size_t max_call_line = 120;

// What may still be stored.
struct Budget {
  std::size_t left = max_stored_arguments;

  // For the punctuation around a value: no list is free.
  void take(std::size_t bytes) { left -= std::min(left, bytes); }
};

// As stored: escaped, a text may take six times its bytes.
std::size_t stored_bytes(const Value& value) { return json::encode(value).size(); }

std::string take_text(const std::string& text, const HideSecrets& hide, Budget& budget) {
  std::string shown = hide(text);
  const std::size_t bytes = stored_bytes(Value::string(shown));
  if (bytes <= budget.left) {
    budget.left -= bytes;
    return shown;
  }
  std::string_view kept = base::truncate_utf8(shown, budget.left);
  while (!kept.empty() && stored_bytes(Value::string(kept)) > budget.left) {
    kept = base::truncate_utf8(kept, kept.size() - std::max<std::size_t>(1, kept.size() / 8));
  }
  budget.left = 0;
  return fmt::format("{}… ({} of {} bytes are shown)", kept, kept.size(), shown.size());
}

Value take_value(const Value& value, const HideSecrets& hide, Budget& budget, std::size_t depth);

Value take_object(const Value::Object& members, const HideSecrets& hide, Budget& budget, std::size_t depth) {
  Value::Object taken;
  std::set<std::string> keys;
  for (const base::Member& member : members) {
    // Two keys that differ in a secret would become one: numbers keep them apart.
    std::string key = take_text(member.key, hide, budget);
    if (!keys.insert(key).second) key += fmt::format(" ({})", taken.size());
    taken.push_back({std::move(key), take_value(member.value, hide, budget, depth + 1)});
    if (budget.left > 0) continue;
    if (taken.size() < members.size()) {
      taken.push_back({"…", Value::string(fmt::format("{} more", members.size() - taken.size()))});
    }
    break;
  }
  return Value::object(std::move(taken));
}

Value take_array(const Value::Array& items, const HideSecrets& hide, Budget& budget, std::size_t depth) {
  Value::Array taken;
  for (const Value& item : items) {
    taken.push_back(take_value(item, hide, budget, depth + 1));
    if (budget.left > 0) continue;
    if (taken.size() < items.size()) {
      taken.push_back(Value::string(fmt::format("… {} more", items.size() - taken.size())));
    }
    break;
  }
  return Value::array(std::move(taken));
}

Value take_value(const Value& value, const HideSecrets& hide, Budget& budget, std::size_t depth) {
  constexpr std::size_t punctuation = 4;
  budget.take(punctuation);
  if (depth > max_depth) return Value::string("… (nested too deeply)");
  if (const std::string* text = value.as_string()) return Value::string(take_text(*text, hide, budget));
  if (const Value::Object* members = value.as_object()) return take_object(*members, hide, budget, depth);
  if (const Value::Array* items = value.as_array()) return take_array(*items, hide, budget, depth);
  budget.take(stored_bytes(value));
  return value;
}

std::string first_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  std::string shown(base::truncate_utf8(line, max_headline));
  if (shown.size() < line.size() || (end != std::string_view::npos && end + 1 < text.size())) shown += " …";
  return shown;
}

// A path beneath the worktree is shown relative to it.
std::string shown_path(const engine::CallPlace& place, const std::string& path) {
  const engine::CallPath located = engine::locate_path(place, path);
  return located.beneath.value_or(path);
}

std::string list_paths(const engine::CallSubject& subject) {
  constexpr std::size_t most = 3;
  const auto paths = engine::find_paths(subject.arguments);
  if (!paths || paths->empty()) return {};
  std::vector<std::string> shown;
  for (const std::string& path : *paths) {
    if (shown.size() == most) break;
    shown.push_back(shown_path(subject.place, path));
  }
  std::string text = base::join(shown, ", ");
  if (paths->size() > most) text += fmt::format(" and {} more", paths->size() - most);
  return text;
}

std::string text_of(const Value& arguments, std::string_view key) {
  const Value* found = arguments.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

std::string words_of(const Value& arguments, std::string_view key) {
  const Value* found = arguments.find(key);
  if (found == nullptr || found->as_array() == nullptr) return {};
  std::vector<std::string> words;
  for (const Value& word : *found->as_array()) words.push_back(word.as_string() != nullptr ? *word.as_string() : "?");
  return base::join(words, " ");
}

std::string headline(const engine::CallSubject& subject, const std::string& native_tool) {
  const std::string& tool = subject.tool;
  if (tool == "shell_execute") {
    const std::string command = text_of(subject.arguments, "command");
    const std::string words = words_of(subject.arguments, "argv");
    if (!command.empty() || !words.empty()) return "Run: " + first_line(command.empty() ? words : command);
  }
  const std::string paths = list_paths(subject);
  if (tool == "file_write" && !paths.empty()) return "Write " + first_line(paths);
  if (tool == "file_delete" && !paths.empty()) return "Delete " + first_line(paths);
  if (tool == "web_fetch") {
    if (const std::string url = text_of(subject.arguments, "url"); !url.empty()) return "Fetch " + first_line(url);
  }
  std::string text = "Call " + first_line(tool);
  if (!native_tool.empty() && native_tool != tool) text += fmt::format(" ({})", first_line(native_tool));
  return paths.empty() ? text : text + ": " + first_line(paths);
}

std::string last_lines(std::string_view text, std::size_t most) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::size_t begin = text.size();
  for (std::size_t lines = 0; begin > 0; --begin) {
    if (text[begin - 1] == '\n' && ++lines == most) break;
  }
  return std::string(text.substr(begin));
}

}  // namespace

Value bound_arguments(const Value& arguments, const HideSecrets& hide) {
  Budget budget;
  return take_value(arguments, hide, budget, 0);
}

model::Approval make_call_question(const CallScene& scene, const HideSecrets& hide) {
  model::Approval question;
  question.kind = model::ApprovalKind::tool_call;
  question.question = hide(headline(scene.subject, scene.native_tool));
  question.arguments = scene.arguments;
  std::string context = fmt::format("folder: {}\nrule:   {}", hide(scene.subject.cwd), scene.verdict.rule);
  if (!scene.verdict.reason.empty()) context += fmt::format(" ({})", hide(scene.verdict.reason));
  // Whether this agent asks before everything it does is not proven.
  context += "\ngate:   asks";
  if (!scene.said.empty()) {
    context += fmt::format("\nsaid before:\n{}", last_lines(scene.said, max_said_lines));
  }
  question.context = std::move(context);
  question.delivery = model::Delivery::live;
  return question;
}

std::string describe_last_calls(const std::vector<model::ToolCall>& calls) {
  std::string text;
  for (const model::ToolCall& call : calls) {
    std::string what = text_of(call.arguments, "command");
    if (what.empty()) what = words_of(call.arguments, "argv");
    if (what.empty()) what = text_of(call.arguments, "path");
    const std::string state = call.outcome  ? std::string(base::spell(*call.outcome))
                              : call.answer ? std::string(base::spell(*call.answer))
                                            : "waits";
    std::string line = fmt::format("{} {}", call.call_id.text(), call.tool);
    if (!what.empty()) line += " " + first_line(what);
    text += fmt::format("\n  {}: {}", base::truncate_utf8(line, max_call_line), state);
  }
  return text.empty() ? text : "\ncalls before:" + text;
}

}  // namespace reeve::runtime
