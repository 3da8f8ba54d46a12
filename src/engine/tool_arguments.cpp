#include "engine/tool_arguments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"
#include "engine/call_path.h"
#include "engine/shell_command.h"

namespace reeve::engine {

namespace {

using base::Value;

constexpr auto path_names =
    std::to_array<std::string_view>({"file_path", "filePath", "filepath", "absolute_path", "abs_path", "notebook_path",
                                     "filename", "file", "target_file", "dir_path", "directory"});
constexpr auto folder_names =
    std::to_array<std::string_view>({"cwd", "workdir", "working_directory", "directory", "dir_path"});
// How agents number their calls: it differs each time, and nothing depends on it.
constexpr auto bookkeeping = std::to_array<std::string_view>(
    {"call_id", "turn_id", "process_id", "started_at_ms", "parsed_cmd", "source", "proposed_execpolicy_amendment",
     "available_decisions", "itemId", "turnId", "threadId", "startedAtMs", "commandActions", "availableDecisions",
     "proposedExecpolicyAmendment", "approvalId", "processId"});

template <class List>
bool lists(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// The texts of a path argument are made absolute; anything else is kept.
std::string absolute_of(const std::string& path, std::string_view cwd) {
  const bool is_kept = path.empty() || path.starts_with('/') || path.starts_with('~') || !cwd.starts_with('/');
  if (is_kept) return path;
  return std::string(cwd) + (cwd.ends_with('/') ? "" : "/") + path;
}

Value absolute_of(const Value& value, std::string_view cwd) {
  if (const std::string* text = value.as_string()) return Value::string(absolute_of(*text, cwd));
  if (value.as_array() == nullptr) return value;
  Value list = Value::array();
  for (const Value& item : *value.as_array()) {
    list.as_array()->push_back(item.as_string() != nullptr ? Value::string(absolute_of(*item.as_string(), cwd)) : item);
  }
  return list;
}

// `glob` and `include` filter names beneath the path of the same call.
bool is_filter(std::string_view name) { return name == "glob" || name == "include"; }

// Gives one of `names` the name `wanted`; only if nothing has that name yet and exactly one is there, so that no second
// path hides behind the first.
template <class List>
std::string_view find_to_rename(const Value& arguments, const List& names, std::string_view wanted) {
  if (arguments.find(wanted) != nullptr) return {};
  std::string_view found;
  for (const std::string_view name : names) {
    if (arguments.find(name) == nullptr) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

Value rename(const Value& arguments, std::string_view from, std::string_view wanted, std::string_view cwd) {
  Value named = Value::object();
  for (const base::Member& member : *arguments.as_object()) {
    const std::string_view name = !from.empty() && member.key == from ? wanted : std::string_view(member.key);
    const bool is_path = names_path(name) && !is_filter(name);
    named.set(name, is_path ? absolute_of(member.value, cwd) : member.value);
  }
  return named;
}

// [/bin/bash, -lc, TEXT] → TEXT.
std::optional<std::string> find_wrapped(const std::vector<std::string>& argv, std::string& shell) {
  if (argv.size() != 3) return std::nullopt;
  std::string found = argv[0] + " " + argv[1];
  if (!is_plain_shell(found)) return std::nullopt;
  shell = std::move(found);
  return argv[2];
}

std::optional<std::vector<std::string>> find_words(const Value& value) {
  if (value.as_array() == nullptr || value.as_array()->empty()) return std::nullopt;
  std::vector<std::string> words;
  for (const Value& word : *value.as_array()) {
    if (word.as_string() == nullptr) return std::nullopt;
    words.push_back(*word.as_string());
  }
  return words;
}

Value name_command(const Value& arguments, std::string_view cwd, ShellWrapper wrapper) {
  Value named = rename(arguments, find_to_rename(arguments, folder_names, "cwd"), "cwd", cwd);
  const bool is_short = named.find("command") == nullptr && named.find("cmd") != nullptr;
  const Value* command = named.find(is_short ? "cmd" : "command");
  if (command == nullptr) return named;
  auto argv = find_words(*command);
  const bool is_list = argv.has_value();
  if (!argv && wrapper == ShellWrapper::removed && command->as_string() != nullptr) {
    argv = parse_simple_command(*command->as_string());
  }
  std::string shell;
  const auto wrapped = argv && wrapper == ShellWrapper::removed ? find_wrapped(*argv, shell) : std::nullopt;
  Value result = Value::object();
  for (const base::Member& member : *named.as_object()) {
    if (wrapper == ShellWrapper::removed && lists(bookkeeping, member.key)) continue;
    if (&member.value != command) {
      result.set(member.key, member.value);
    } else if (wrapped) {
      result.set("command", Value::string(*wrapped));
    } else if (is_list && named.find("argv") == nullptr) {
      result.set("argv", *command);
    } else {
      result.set("command", *command);
    }
  }
  if (wrapped && result.find("shell") == nullptr) result.set("shell", Value::string(shell));
  return result;
}

// Paths to read are relative to the folder of the call, also those that are called a filter.
Value name_patterns(const Value& arguments, std::string_view cwd) {
  Value named = Value::object();
  for (const base::Member& member : *arguments.as_object()) {
    named.set(member.key, names_path(member.key) ? absolute_of(member.value, cwd) : member.value);
  }
  return named;
}

// The folder that a search without a path starts in.
Value with_path(Value named, std::string_view cwd) {
  if (named.find("path") == nullptr && cwd.starts_with('/')) named.set("path", Value::string(cwd));
  return named;
}

Value name_glob(const Value& arguments, std::string_view cwd) {
  Value named = with_path(rename(arguments, find_to_rename(arguments, path_names, "path"), "path", cwd), cwd);
  const Value* pattern = named.find("pattern");
  const Value* path = named.find("path");
  const bool is_clear = pattern != nullptr && pattern->as_string() != nullptr && named.find("glob") == nullptr &&
                        path != nullptr && path->as_string() != nullptr;
  if (!is_clear) return named;
  const std::string glob = absolute_of(*pattern->as_string(), *path->as_string());
  named.set("glob", Value::string(glob));
  return named;
}

// A call without a path that is understood has none that a rule could approve.
Value name_path(const Value& arguments, std::string_view cwd) {
  Value named = rename(arguments, find_to_rename(arguments, path_names, "path"), "path", cwd);
  const auto paths = find_paths(named);
  if (paths && paths->empty()) named.set("paths", Value::array());
  return named;
}

// All paths of the changes; an empty list, which no rule approves, if one of them is not understood.
Value list_paths(const std::vector<std::string>& paths, bool is_understood, std::string_view cwd) {
  Value list = Value::array();
  for (const std::string& path : paths) {
    if (is_understood) list.as_array()->push_back(Value::string(absolute_of(path, cwd)));
  }
  return list;
}

Value with_paths(const Value& arguments, Value paths) {
  Value named = Value::object();
  for (const base::Member& member : *arguments.as_object()) {
    if (member.key != "paths") named.set(member.key, member.value);
  }
  named.set("paths", std::move(paths));
  return named;
}

NamedArguments name_changes(const Value& arguments, std::string_view cwd) {
  std::vector<std::string> paths;
  bool is_understood = arguments.find("paths") == nullptr;
  bool deletes = false;
  const Value* changes = arguments.find("changes");
  const Value::Array* list = changes != nullptr ? changes->as_array() : nullptr;
  for (const Value& change : list != nullptr ? *list : Value::Array{}) {
    const Value* path = change.find("path");
    const Value* kind = change.find("kind");
    if (kind != nullptr && kind->find("type") != nullptr) kind = kind->find("type");
    const std::string* word = kind != nullptr ? kind->as_string() : nullptr;
    const bool is_known = path != nullptr && path->as_string() != nullptr && word != nullptr &&
                          (*word == "add" || *word == "update" || *word == "delete");
    is_understood = is_understood && is_known;
    if (!is_known) continue;
    deletes = deletes || *word == "delete";
    paths.push_back(*path->as_string());
    for (const char* moved : {"move_path", "movePath"}) {
      const Value* target = change.find("kind")->find(moved);
      if (target == nullptr || target->is_null()) continue;
      is_understood = is_understood && target->as_string() != nullptr;
      if (target->as_string() != nullptr) paths.push_back(*target->as_string());
    }
  }
  return {with_paths(arguments, list_paths(paths, is_understood, cwd)), deletes};
}

NamedArguments name_patch(const Value& arguments, std::string_view cwd) {
  constexpr auto patch_names = std::to_array<std::string_view>({"input", "patch", "patchText", "command"});
  std::vector<std::string> paths;
  bool deletes = false;
  int patches = 0;
  bool is_understood = arguments.find("paths") == nullptr;
  for (const std::string_view name : patch_names) {
    const Value* patch = arguments.find(name);
    if (patch == nullptr) continue;
    ++patches;
    is_understood = is_understood && patch->as_string() != nullptr;
    if (patch->as_string() == nullptr) continue;
    for (std::string_view line : base::split(*patch->as_string(), '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.starts_with("***")) continue;
      const std::size_t colon = line.find(": ");
      const std::string_view head = line.substr(0, colon);
      const bool names_file = colon != std::string_view::npos && (head == "*** Add File" || head == "*** Update File" ||
                                                                  head == "*** Delete File" || head == "*** Move to");
      const bool is_frame = line == "*** Begin Patch" || line == "*** End Patch" || line == "*** End of File";
      is_understood = is_understood && (names_file || is_frame);
      if (!names_file) continue;
      deletes = deletes || head == "*** Delete File";
      paths.emplace_back(line.substr(colon + 2));
    }
  }
  return {with_paths(arguments, list_paths(paths, is_understood && patches == 1, cwd)), deletes};
}

}  // namespace

bool is_plain_shell(std::string_view text) {
  constexpr auto shells = std::to_array<std::string_view>(
      {"/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/zsh"});
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || !lists(shells, text.substr(0, blank))) return false;
  const std::string_view options = text.substr(blank + 1);
  return options == "-c" || options == "-lc";
}

NamedArguments name_arguments(ArgumentForm form, const Value& arguments, std::string_view cwd, ShellWrapper wrapper) {
  if (arguments.as_object() == nullptr) return {arguments, false};
  switch (form) {
    case ArgumentForm::command:
      return {name_command(arguments, cwd, wrapper), false};
    case ArgumentForm::path:
      return {name_path(arguments, cwd), false};
    case ArgumentForm::own:
      return {rename(arguments, {}, {}, cwd), false};
    case ArgumentForm::own_search:
      return {with_path(rename(arguments, {}, {}, cwd), cwd), false};
    case ArgumentForm::glob:
      return {name_glob(arguments, cwd), false};
    case ArgumentForm::search:
      return {with_path(rename(arguments, find_to_rename(arguments, path_names, "path"), "path", cwd), cwd), false};
    case ArgumentForm::patterns:
      return {name_patterns(arguments, cwd), false};
    case ArgumentForm::changes:
      return name_changes(arguments, cwd);
    case ArgumentForm::patch:
      return name_patch(arguments, cwd);
    case ArgumentForm::mcp_call: {
      const Value* inner = arguments.find("arguments");
      return {inner != nullptr && inner->as_object() != nullptr ? *inner : arguments, false};
    }
    case ArgumentForm::other:
      break;
  }
  return {arguments, false};
}

}  // namespace reeve::engine
