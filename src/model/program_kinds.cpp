#include "model/program_kinds.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/program_tables.h"

namespace reeve::model {

namespace {

// "python3.11" → "python", "clang++-19" → "clang++", "vim.basic" → "vim".
std::string_view base_name(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  std::string_view name = slash == std::string_view::npos ? program : program.substr(slash + 1);
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos && dot > 0) name = name.substr(0, dot);
  const std::string_view whole = name;
  while (!name.empty() && (base::is_ascii_digit(name.back()) || name.back() == '-')) name.remove_suffix(1);
  return name.empty() ? whole : name;
}

// Whether the word is one of those, which are separated by blanks.
bool lists(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = base::split(words, ' ');
  return !word.empty() && std::ranges::find(all, word) != all.end();
}

const ProgramSubcommands* find_subcommands(std::string_view name) {
  const auto found = std::ranges::find(programs_with_subcommands, name, &ProgramSubcommands::program);
  return found != programs_with_subcommands.end() ? &*found : nullptr;
}

// The loader of dynamic programs runs the program that its arguments name.
bool is_loader(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? program : program.substr(slash + 1);
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
std::string_view find_command_option(std::string_view name, std::span<const std::string> arguments) {
  const auto known = std::ranges::find(command_options, name, &CommandOptions::program);
  if (known == command_options.end()) return {};
  for (const std::string_view option : base::split(known->options, ' ')) {
    const auto matches = [&](const std::string& argument) { return is_option(argument, option); };
    if (std::ranges::any_of(arguments, matches)) return option;
  }
  return {};
}

}  // namespace

ProgramKind kind_of_program(std::string_view program) {
  const std::string name = base::to_ascii_lower(base_name(program));
  if (lists(interpreters, name)) return ProgramKind::interpreter;
  if (lists(starters, name) || is_loader(program)) return ProgramKind::starter;
  return find_subcommands(name) != nullptr ? ProgramKind::with_subcommands : ProgramKind::plain;
}

std::optional<std::string> find_program_objection(std::string_view program, std::string_view subcommand) {
  constexpr std::string_view instead = "approve exact argument vectors instead";
  const std::string name = base::to_ascii_lower(base_name(program));
  switch (kind_of_program(program)) {
    case ProgramKind::plain:
      return std::nullopt;
    case ProgramKind::interpreter:
      return fmt::format("{} runs what its arguments say as a program; {}", base::visible(name), instead);
    case ProgramKind::starter:
      return fmt::format("{} starts other programs; {}", base::visible(name), instead);
    case ProgramKind::with_subcommands:
      break;
  }
  const ProgramSubcommands& known = *find_subcommands(name);
  if (subcommand.empty()) {
    return fmt::format("{} needs a subcommand, such as `{} {}`", name, name,
                       known.approvable.substr(0, known.approvable.find(' ')));
  }
  if (lists(known.approvable, subcommand)) return std::nullopt;
  return fmt::format("{} {} may start other programs; {}", name, base::visible(subcommand), instead);
}

std::optional<std::string> find_command_objection(std::span<const std::string> argv) {
  if (argv.empty()) return "there is no program";
  const std::string name = base::to_ascii_lower(base_name(argv.front()));
  if (kind_of_program(name) == ProgramKind::with_subcommands && argv.size() > 1 && argv[1].starts_with('-')) {
    return fmt::format("an option stands before the subcommand of {}; write it after the subcommand", name);
  }
  if (const auto objection = find_program_objection(argv.front(), find_subcommand(argv))) return objection;
  std::vector<std::string> arguments(argv.begin() + 1, argv.end());
  // The first argument of tar may be its options without a hyphen.
  if (name.ends_with("tar") && !arguments.empty() && !arguments.front().starts_with('-')) {
    arguments.front().insert(0, 1, '-');
  }
  const std::string_view option = find_command_option(name, arguments);
  if (!option.empty()) {
    return fmt::format("{} can run a command by its option {}; approve the exact argument vector instead", name,
                       option);
  }
  return std::nullopt;
}

std::string_view find_subcommand(std::span<const std::string> argv) {
  const bool has_one = argv.size() > 1 && !argv[1].empty() && !argv[1].starts_with('-') &&
                       kind_of_program(argv.front()) == ProgramKind::with_subcommands;
  return has_one ? std::string_view(argv[1]) : std::string_view();
}

}  // namespace reeve::model
