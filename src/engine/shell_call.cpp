#include "engine/shell_call.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/shell_command.h"
#include "model/program_kinds.h"

namespace reeve::engine {

namespace {

// Arguments that change neither what runs nor with which rights.
constexpr auto harmless_arguments =
    std::to_array<std::string_view>({"command", "argv", "description", "timeout", "timeout_ms", "timeoutMs",
                                     "run_in_background", "is_background", "shell", "reason", "justification"});

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_beneath(const CallPlace& place, const std::string& path) {
  return std::ranges::all_of(locate_all(place, path), [](const CallPath& each) { return each.beneath.has_value(); });
}

bool is_unset(const base::Value& value) {
  const bool* flag = value.as_bool();
  return value.is_null() || (flag != nullptr && !*flag);
}

}  // namespace

std::optional<std::vector<std::string>> find_call_argv(const base::Value& arguments) {
  const base::Value* text = arguments.find("command");
  const base::Value* list = arguments.find("argv");
  if ((text != nullptr) == (list != nullptr)) return std::nullopt;
  if (text != nullptr) return text->as_string() != nullptr ? parse_simple_command(*text->as_string()) : std::nullopt;
  const base::Value::Array* words = list->as_array();
  if (words == nullptr || words->empty() || words->size() > max_shell_words) return std::nullopt;
  std::vector<std::string> argv;
  for (const base::Value& word : *words) {
    if (word.as_string() == nullptr || word.as_string()->contains('\0')) return std::nullopt;
    argv.push_back(*word.as_string());
  }
  return argv.front().empty() ? std::nullopt : std::optional(std::move(argv));
}

std::string find_shell_objection(const CallSubject& subject, ShellExtent extent) {
  const auto argv = find_call_argv(subject.arguments);
  if (!argv) return "not one simple command";
  for (const base::Member& member : *subject.arguments.as_object()) {
    const bool is_known = std::ranges::find(harmless_arguments, member.key) != harmless_arguments.end();
    if (is_known || names_path(member.key) || is_unset(member.value)) continue;
    return fmt::format("an argument of unknown meaning, {}", base::quoted(base::truncate_utf8(member.key, 100)));
  }
  const auto paths = find_paths(subject.arguments);
  if (!paths) return "a path that is not a string";
  if (!is_beneath(subject.place, subject.cwd)) return "outside the worktree";
  for (const std::string& path : *paths) {
    if (!is_beneath(subject.place, path)) return "outside the worktree";
  }
  if (!subject.program || subject.program->name != argv->front() || !subject.program->path.starts_with('/')) {
    return "the program was not found";
  }
  if (subject.program->is_writable_by_run || locate_path(subject.place, subject.program->path).beneath) {
    return "the run could replace the program";
  }
  if (extent == ShellExtent::argv) return {};
  if (const auto objection = model::find_command_objection(*argv)) return *objection;
  // What a link leads to, such as /usr/bin/awk → mawk. The arguments are the same.
  std::vector<std::string> resolved = *argv;
  resolved.front() = subject.program->path;
  return model::find_command_objection(resolved).value_or("");
}

std::vector<std::string> names_of_program(const std::vector<std::string>& argv, const CallSubject& subject) {
  std::vector<std::string> names = {argv.front(), std::string(last_part(argv.front()))};
  if (subject.program && subject.program->name == argv.front() && !subject.program->path.empty()) {
    names.push_back(subject.program->path);
    names.emplace_back(last_part(subject.program->path));
  }
  return names;
}

}  // namespace reeve::engine
