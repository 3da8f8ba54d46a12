#include "engine/shell_call.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/shell_command.h"
#include "engine/tool_arguments.h"
#include "model/program_kinds.h"

namespace reeve::engine {

namespace {

constexpr std::size_t max_shown_file = 200;

// Arguments that change neither what runs nor with which rights.
constexpr auto harmless_arguments = std::to_array<std::string_view>(
    {"command", "argv", "description", "timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "run_in_background",
     "is_background", "reason", "justification"});
// Those that name the folder in which a command runs.
constexpr auto folder_arguments = std::to_array<std::string_view>(
    {"cwd", "workdir", "working_directory", "directory", "dir_path", "dir", "folder", "root"});
// Options of git that choose neither a repository nor settings.
constexpr auto harmless_git_options =
    std::to_array<std::string_view>({"--no-pager", "-P", "--no-optional-locks", "--version"});

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

bool is_harmless(const base::Member& member) {
  if (names_path(member.key) || is_unset(member.value)) return true;
  // Any other shell runs the text in its own way, or is a program of the agent.
  const std::string* text = member.value.as_string();
  if (member.key == "shell") return text != nullptr && is_plain_shell(*text);
  return std::ranges::find(harmless_arguments, member.key) != harmless_arguments.end();
}

// As written and as resolved.
bool runs_git(const std::vector<std::string>& argv, const CallSubject& subject) {
  return model::uses_git(argv.front()) || (subject.program && model::uses_git(subject.program->path));
}

// An agent that may write files could make a repository whose settings run a program (`core.fsmonitor`), and start git
// in it: a folder passes for one without being called `.git`.
std::string_view find_git_objection(const std::vector<std::string>& argv, const CallSubject& subject) {
  if (!runs_git(argv, subject)) return {};
  for (const std::string& word : argv) {
    if (&word == &argv.front() || std::ranges::find(harmless_git_options, word) != harmless_git_options.end()) continue;
    if (word.starts_with('-')) return "an option of git before its subcommand may choose another repository";
    break;
  }
  return subject.finds_own_repository ? "" : "git would not use the repository of the worktree";
}

// By its name, with any arguments.
std::string find_program_objection(const std::vector<std::string>& argv, const std::string& path) {
  if (const auto objection = model::find_command_objection(argv)) return *objection;
  // What a link leads to, such as /usr/bin/awk → mawk, is another program with other options.
  if (model::is_program_of_name(path, argv.front())) return {};
  return fmt::format("{} is the program {}; {}", base::visible(argv.front()), base::visible(path),
                     model::exact_instead);
}

}  // namespace

std::optional<std::string> find_working_folder(const base::Value& arguments, const std::string& cwd) {
  const std::string* named = nullptr;
  for (const std::string_view name : folder_arguments) {
    const base::Value* value = arguments.find(name);
    if (value == nullptr) continue;
    const std::string* folder = value->as_string();
    const bool is_clear = folder != nullptr && folder->starts_with('/') && (named == nullptr || *named == *folder);
    if (!is_clear) return std::nullopt;
    named = folder;
  }
  return named != nullptr ? *named : cwd;
}

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
    if (is_harmless(member)) continue;
    return fmt::format("an argument of unknown meaning, {}", base::quoted(base::truncate_utf8(member.key, 100)));
  }
  const auto paths = find_paths(subject.arguments);
  if (!paths) return "a path that is not a string";
  if (find_working_folder(subject.arguments, subject.cwd) != subject.cwd)
    return "it is unclear in which folder it runs";
  if (!is_beneath(subject.place, subject.cwd)) return "outside the worktree";
  for (const std::string& path : *paths) {
    if (!is_beneath(subject.place, path)) return "outside the worktree";
  }
  // It would be another program in another folder, and rules and grants hold in all of them.
  if (argv->front().contains('/') && !argv->front().starts_with('/'))
    return "the program is named relative to a folder";
  if (!subject.program || subject.program->name != argv->front() || !subject.program->path.starts_with('/')) {
    return "the program was not found";
  }
  if (subject.program->is_writable_by_run || locate_path(subject.place, subject.program->path).beneath) {
    return "the run could replace the program";
  }
  if (const std::string_view objection = find_git_objection(*argv, subject); !objection.empty()) {
    return std::string(objection);
  }
  return extent == ShellExtent::argv ? std::string() : find_program_objection(*argv, subject.program->path);
}

std::vector<std::string> describe_unbound(const CallSubject& subject) {
  if (subject.tool != "shell_execute") return {};
  const auto argv = find_call_argv(subject.arguments);
  if (!argv) return {"whatever the programs and scripts in this text contain later"};
  std::vector<std::string> lines;
  const auto add = [&](std::string_view file) {
    lines.push_back(fmt::format("whatever {} contains later", base::quoted(base::truncate_utf8(file, max_shown_file))));
  };
  const bool is_program_known = subject.program && !subject.program->path.empty();
  const bool is_replaceable = !is_program_known || subject.program->is_writable_by_run;
  if (is_replaceable) add(argv->front());
  const bool only_reads = is_program_known && find_program_objection(*argv, subject.program->path).empty();
  const bool has_subcommands = model::kind_of_program(argv->front()) == model::ProgramKind::with_subcommands;
  if (runs_git(*argv, subject) && !find_git_objection(*argv, subject).empty()) {
    lines.emplace_back("whatever the settings of the repository that it finds there start later");
  }
  if (only_reads || has_subcommands) return lines;
  for (const std::string& file : subject.writable_files) {
    if (file != argv->front()) add(file);
  }
  if (lines.empty()) {
    lines.push_back(fmt::format("whatever {} runs by the files of the worktree later", base::quoted(argv->front())));
  }
  return lines;
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
