#include "agents/hook_settings.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "agents/json_text.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

// A group of hooks that Reeve wants below an event.
struct WantedGroup {
  std::string event;
  Value group;
};

constexpr std::string_view require_option = "--require";
constexpr std::string_view give_up_option = "--give-up";

// Where a hook of Reeve is.
struct FoundHook {
  std::string event;
  std::size_t group = 0;
  std::size_t hook = 0;
};

bool counts_seconds(HookDialect dialect) { return dialect == HookDialect::claude || dialect == HookDialect::codex; }

// One word of a shell command.
std::string shell_word(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view("/-_.+").contains(c);
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

enum class Purpose { gate, result };

Value make_group(HookDialect dialect, Purpose purpose, const std::string& command, int seconds) {
  Value hook = Value::object();
  if (dialect == HookDialect::gemini || dialect == HookDialect::qwen) hook.set("name", Value::string("reeve"));
  hook.set("type", Value::string("command"));
  hook.set("command", Value::string(command));
  hook.set("timeout", Value::integer(counts_seconds(dialect) ? seconds : std::int64_t{seconds} * 1000));
  // Without it Claude Code runs the call if the hook crashes or times out.
  if (dialect == HookDialect::claude && purpose == Purpose::gate) hook.set("onFailure", Value::string("block"));
  return Value::object({{"matcher", Value::string("*")}, {"hooks", Value::array({std::move(hook)})}});
}

// Without ids of its calls (Gemini CLI), an agent cannot say which of them a result belongs to.
std::vector<std::string> result_events(HookDialect dialect) {
  switch (dialect) {
    case HookDialect::claude:
    case HookDialect::qwen:
      return {"PostToolUse", "PostToolUseFailure"};
    case HookDialect::codex:
      return {"PostToolUse"};
    case HookDialect::gemini:
      break;
  }
  return {};
}

std::string gate_event(HookDialect dialect) { return dialect == HookDialect::gemini ? "BeforeTool" : "PreToolUse"; }

std::vector<WantedGroup> wanted_groups(HookDialect dialect, const HookEntry& entry) {
  const std::string command = fmt::format("{} hook {}", shell_word(entry.program), base::spell(dialect));
  const std::string gate = fmt::format("{}{} --give-up {}", command, entry.is_required ? " --require" : "",
                                       installed_hook_seconds - hook_margin_seconds);
  std::vector<WantedGroup> wanted = {
      {gate_event(dialect), make_group(dialect, Purpose::gate, gate, installed_hook_seconds)}};
  for (const std::string& event : result_events(dialect)) {
    wanted.push_back({event, make_group(dialect, Purpose::result, command, result_hook_seconds)});
  }
  return wanted;
}

std::expected<Value, std::string> parse_settings(std::string_view text) {
  auto settings = json::parse(text);
  if (!settings) return std::unexpected("it is not valid JSON: " + settings.error().text());
  if (settings->as_object() == nullptr) return std::unexpected("it is not a JSON object");
  const Value* hooks = settings->find("hooks");
  if (hooks != nullptr && hooks->as_object() == nullptr) return std::unexpected("its `hooks` is not an object");
  return std::move(*settings);
}

// The elements of a member that is a list; none otherwise.
const Value::Array& list_of(const Value& object, std::string_view key) {
  static const Value::Array none;
  const Value* found = object.find(key);
  const Value::Array* list = found != nullptr ? found->as_array() : nullptr;
  return list != nullptr ? *list : none;
}

const std::string* find_command(const Value& hook) {
  const Value* command = hook.find("command");
  return command != nullptr ? command->as_string() : nullptr;
}

bool is_own_hook(HookDialect dialect, const Value& hook) {
  const std::string* text = find_command(hook);
  return text != nullptr && is_own_command(dialect, *text);
}

std::vector<FoundHook> find_own(HookDialect dialect, const Value& settings) {
  std::vector<FoundHook> found;
  const Value* hooks = settings.find("hooks");
  if (hooks == nullptr || hooks->as_object() == nullptr) return found;
  for (const base::Member& event : *hooks->as_object()) {
    const Value::Array& groups = list_of(*hooks, event.key);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Value::Array& entries = list_of(groups[i], "hooks");
      for (std::size_t j = 0; j < entries.size(); ++j) {
        if (is_own_hook(dialect, entries[j])) found.push_back({event.key, i, j});
      }
    }
  }
  return found;
}

bool requires_run(const Value& settings, const std::vector<FoundHook>& own) {
  return std::ranges::any_of(own, [&](const FoundHook& found) {
    const Value& group = list_of(*settings.find("hooks"), found.event).at(found.group);
    const std::string* command = find_command(list_of(group, "hooks").at(found.hook));
    return command != nullptr && command->contains(require_option);
  });
}

bool is_complete(const Value& settings, const std::vector<FoundHook>& own, const std::vector<WantedGroup>& wanted) {
  if (own.size() != wanted.size()) return false;
  return std::ranges::all_of(wanted, [&](const WantedGroup& one) {
    const Value* hooks = settings.find("hooks");
    if (hooks == nullptr) return false;
    const Value::Array& groups = list_of(*hooks, one.event);
    return std::ranges::find(groups, one.group) != groups.end();
  });
}

std::size_t index_of(std::string_view text, JsonSpan container, std::string_view key) {
  const auto items = list_items(text, container);
  const auto found = std::ranges::find(items, key, &JsonItem::key);
  REEVE_ASSERT(found != items.end());
  return static_cast<std::size_t>(found - items.begin());
}

// Removes one hook, and what only contained it.
std::string remove_found(std::string_view text, const FoundHook& found) {
  const JsonSpan root = find_root(text);
  const auto hooks = find_member(text, root, "hooks");
  REEVE_ASSERT(hooks.has_value());
  const auto groups = find_member(text, *hooks, found.event);
  REEVE_ASSERT(groups.has_value());
  const auto all_groups = list_items(text, *groups);
  const auto entries = find_member(text, all_groups.at(found.group).value, "hooks");
  REEVE_ASSERT(entries.has_value());
  if (list_items(text, *entries).size() > 1) return remove_item(text, *entries, found.hook);
  if (all_groups.size() > 1) return remove_item(text, *groups, found.group);
  if (list_items(text, *hooks).size() > 1) return remove_item(text, *hooks, index_of(text, *hooks, found.event));
  return remove_item(text, root, index_of(text, root, "hooks"));
}

std::expected<std::string, std::string> append_group(const std::string& text, const WantedGroup& wanted) {
  const JsonSpan root = find_root(text);
  const auto hooks = find_member(text, root, "hooks");
  if (!hooks) {
    return append_item(text, root, "hooks", Value::object({{wanted.event, Value::array({wanted.group})}}));
  }
  const auto groups = find_member(text, *hooks, wanted.event);
  if (!groups) return append_item(text, *hooks, wanted.event, Value::array({wanted.group}));
  if (text[groups->begin] != '[') return std::unexpected(fmt::format("its `hooks.{}` is not a list", wanted.event));
  return append_item(text, *groups, std::nullopt, wanted.group);
}

// Takes the first word of a shell command from its begin, without its quotes.
std::string take_word(std::string_view& command) {
  std::string word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < command.size(); ++at) {
    const char c = command[at];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\' && at + 1 < command.size()) {
      word += command[++at];
    } else if (c == ' ' || c == '\t') {
      break;
    } else {
      word += c;
    }
  }
  command.remove_prefix(at);
  command.remove_prefix(std::min(command.find_first_not_of(" \t"), command.size()));
  return word;
}

// `--require`, `--give-up N`: with anything else it is somebody's own command.
bool has_only_options(std::string_view rest) {
  while (!rest.empty()) {
    const std::string word = take_word(rest);
    if (word == require_option) continue;
    const std::string value = word == give_up_option ? take_word(rest) : std::string();
    if (value.empty() || !std::ranges::all_of(value, base::is_ascii_digit)) return false;
  }
  return true;
}

}  // namespace

SettingsPlace settings_place(HookDialect dialect) {
  switch (dialect) {
    case HookDialect::claude:
      return {".claude", "settings.json", "CLAUDE_CONFIG_DIR"};
    case HookDialect::codex:
      return {".codex", "hooks.json", "CODEX_HOME"};
    case HookDialect::gemini:
      return {".gemini", "settings.json", ""};
    case HookDialect::qwen:
      return {".qwen", "settings.json", ""};
  }
  return {};
}

int default_hook_seconds(HookDialect dialect) { return counts_seconds(dialect) ? 600 : 60; }

std::expected<std::string, std::string> add_hook(HookDialect dialect, std::string_view text, HookEntry entry) {
  if (base::trim(text).empty()) text = "{}\n";
  const auto settings = parse_settings(text);
  if (!settings) return std::unexpected(settings.error());
  const auto own = find_own(dialect, *settings);
  entry.is_required = entry.is_required || requires_run(*settings, own);
  const auto wanted = wanted_groups(dialect, entry);
  if (is_complete(*settings, own, wanted)) return std::string(text);
  auto edited = remove_hook(dialect, text);
  for (const WantedGroup& group : wanted) {
    if (edited) edited = append_group(*edited, group);
  }
  if (!edited) return edited;
  const auto result = json::parse(*edited);
  REEVE_ASSERT(result.has_value() && is_complete(*result, find_own(dialect, *result), wanted));
  return edited;
}

std::expected<std::string, std::string> remove_hook(HookDialect dialect, std::string_view text) {
  std::string edited(text);
  while (true) {
    const auto settings = parse_settings(edited);
    if (!settings) return std::unexpected(settings.error());
    const auto own = find_own(dialect, *settings);
    if (own.empty()) return edited;
    edited = remove_found(edited, own.back());
  }
}

Value make_run_hooks(HookDialect dialect, const std::string& program, int seconds) {
  const int give_up = std::max(1, seconds - hook_margin_seconds);
  const std::string gate =
      fmt::format("{} hook {} --require --give-up {}", shell_word(program), base::spell(dialect), give_up);
  return Value::object({{gate_event(dialect), Value::array({make_group(dialect, Purpose::gate, gate, seconds)})}});
}

bool is_own_command(HookDialect dialect, std::string_view command) {
  command = base::trim(command);
  const std::string program = take_word(command);
  if (program.substr(program.rfind('/') + 1) != "reeve") return false;
  return take_word(command) == "hook" && take_word(command) == base::spell(dialect) && has_only_options(command);
}

}  // namespace reeve::agents
