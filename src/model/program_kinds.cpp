#include "model/program_kinds.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/program_tables.h"

namespace reeve::model {

namespace {

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view before_dot(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && dot > 0 ? name.substr(0, dot) : name;
}

// "python3.11" → "python", "clang++-19" → "clang++", "vim.basic" → "vim".
std::string_view without_version(std::string_view program) {
  std::string_view name = before_dot(last_part(program));
  const std::string_view whole = name;
  while (!name.empty() && (base::is_ascii_digit(name.back()) || name.back() == '-')) name.remove_suffix(1);
  return name.empty() ? whole : name;
}

// Whether the word is one of those, which are separated by blanks.
bool lists(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = base::split(words, ' ');
  return !word.empty() && std::ranges::find(all, word) != all.end();
}

bool is_plain(std::string_view name) {
  return std::ranges::find(plain_programs, name, &PlainProgram::program) != plain_programs.end();
}

// The row for the program with this subcommand, or without one if it has none.
const PlainProgram* find_plain(std::string_view name, std::string_view subcommand) {
  const auto found = std::ranges::find_if(plain_programs, [&](const PlainProgram& row) {
    return row.program == name && (row.subcommands.empty() || lists(row.subcommands, subcommand));
  });
  return found != plain_programs.end() ? &*found : nullptr;
}

bool has_subcommands(std::string_view name) {
  return std::ranges::any_of(plain_programs,
                             [&](const PlainProgram& row) { return row.program == name && !row.subcommands.empty(); });
}

// Something to write in a message: "git status".
std::string example_of(std::string_view name) {
  const auto row = std::ranges::find(plain_programs, name, &PlainProgram::program);
  return fmt::format("{} {}", name, row->subcommands.substr(0, row->subcommands.find(' ')));
}

// The loader of dynamic programs runs the program that its arguments name.
bool is_loader(std::string_view program) {
  const std::string_view name = last_part(program);
  return name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" || name.starts_with("ld64.so");
}

// Long options may be abbreviated; short ones may stand in a cluster.
bool is_option(std::string_view argument, std::string_view option) {
  if (argument.size() < 2) return false;
  if (option.starts_with("--")) {
    const std::string_view name = argument.substr(0, argument.find('='));
    return name.size() > 2 && option.starts_with(name);
  }
  if (option.size() > 2) return argument.starts_with(option);
  return argument[0] == '-' && argument[1] != '-' && argument.contains(option[1]);
}

// Empty: none of the arguments is such an option.
std::string_view find_command_option(const PlainProgram& known, std::span<const std::string> arguments) {
  if (known.options.empty()) return {};
  for (const std::string_view option : base::split(known.options, ' ')) {
    const auto matches = [&](const std::string& argument) { return is_option(argument, option); };
    if (std::ranges::any_of(arguments, matches)) return option;
  }
  return {};
}

// Words that are neither options nor, as far as the table says, their values: at least as many as the program counts.
std::size_t count_operands(const PlainProgram& known, std::span<const std::string> arguments) {
  std::size_t count = 0;
  bool are_all = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (are_all || argument == "-" || !argument.starts_with('-')) {
      ++count;
    } else if (argument == "--") {
      are_all = true;
    } else if (lists(known.values, argument) && i + 1 < arguments.size() && !arguments[i + 1].starts_with('-')) {
      ++i;
    }
  }
  return count;
}

}  // namespace

ProgramKind kind_of_program(std::string_view program) {
  const std::string name = base::to_ascii_lower(without_version(program));
  if (lists(interpreters, name)) return ProgramKind::interpreter;
  if (lists(starters, name) || is_loader(program)) return ProgramKind::starter;
  const std::string_view exact = last_part(program);
  if (!is_plain(exact)) return ProgramKind::unknown;
  return has_subcommands(exact) ? ProgramKind::with_subcommands : ProgramKind::plain;
}

std::optional<std::string> find_program_objection(std::string_view program, std::string_view subcommand) {
  const std::string_view name = last_part(program);
  switch (kind_of_program(program)) {
    case ProgramKind::plain:
      return std::nullopt;
    case ProgramKind::interpreter:
      return fmt::format("{} runs what its arguments say as a program; {}", base::visible(name), exact_instead);
    case ProgramKind::starter:
      return fmt::format("{} starts other programs; {}", base::visible(name), exact_instead);
    case ProgramKind::unknown:
      return fmt::format("{} is not among the programs that only read, and may run what files of the project say; {}",
                         base::visible(name), exact_instead);
    case ProgramKind::with_subcommands:
      break;
  }
  if (subcommand.empty()) return fmt::format("{} needs a subcommand, such as `{}`", name, example_of(name));
  if (find_plain(name, subcommand) != nullptr) return std::nullopt;
  return fmt::format("{} {} is not among the subcommands that only read, such as `{}`; {}", name,
                     base::visible(subcommand), example_of(name), exact_instead);
}

std::optional<std::string> find_command_objection(std::span<const std::string> argv) {
  if (argv.empty()) return "there is no program";
  const std::string_view name = last_part(argv.front());
  const bool with_subcommands = kind_of_program(name) == ProgramKind::with_subcommands;
  if (with_subcommands && argv.size() > 1 && argv[1].starts_with('-')) {
    return fmt::format("an option stands before the subcommand of {}; write it after the subcommand", name);
  }
  const std::string_view subcommand = find_subcommand(argv);
  if (const auto objection = find_program_objection(argv.front(), subcommand)) return objection;
  const PlainProgram* known = find_plain(name, subcommand);
  if (known == nullptr) return fmt::format("nothing is known about {}; {}", base::visible(name), exact_instead);
  const auto arguments = argv.subspan(subcommand.empty() ? 1 : 2);
  const auto is_file_of_options = [](const std::string& argument) { return argument.starts_with('@'); };
  if (std::ranges::any_of(arguments, is_file_of_options)) {
    return fmt::format("an argument that begins with @ may stand for any options of {}; {}", name, exact_instead);
  }
  const std::string_view option = find_command_option(*known, arguments);
  if (!option.empty()) {
    return fmt::format("{} can run a command or write a file by its option {}; {}", name, option, exact_instead);
  }
  if (count_operands(*known, arguments) > known->max_operands) {
    return fmt::format("{}{}{} can change something by a further argument; {}", name, subcommand.empty() ? "" : " ",
                       subcommand, exact_instead);
  }
  return std::nullopt;
}

bool is_program_of_name(std::string_view path, std::string_view called) {
  return before_dot(last_part(path)) == last_part(called);
}

bool uses_git(std::string_view program) {
  const std::string_view name = before_dot(last_part(program));
  return lists(git_programs, name) || name.starts_with("git-");
}

std::string_view find_subcommand(std::span<const std::string> argv) {
  const bool has_one = argv.size() > 1 && !argv[1].empty() && !argv[1].starts_with('-') &&
                       kind_of_program(argv.front()) == ProgramKind::with_subcommands;
  return has_one ? std::string_view(argv[1]) : std::string_view();
}

}  // namespace reeve::model
