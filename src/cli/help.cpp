#include "cli/help.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace reeve::cli {

namespace {

using view::Tint;

std::string usage_of(const Command& command) {
  std::string usage = fmt::format("reeve {}", command.name);
  std::string foreign;
  for (const Positional& word : command.positionals) {
    if (word.is_foreign) {
      foreign = fmt::format(" -- {}…", word.name);
      continue;
    }
    usage += word.is_required ? fmt::format(" {}", word.name) : fmt::format(" [{}]", word.name);
    if (word.is_repeatable) usage += "…";
  }
  for (const Option& option : command.options) {
    if (option.is_required) usage += fmt::format(" {} {}", option.name, option.value);
  }
  return usage + " [options]" + foreign;
}

std::string option_line(const Option& option) {
  std::string words =
      option.brief.empty() ? std::string(option.name) : fmt::format("{}, {}", option.brief, option.name);
  if (!option.value.empty()) words += fmt::format(" {}", option.value);
  std::string help(option.help);
  if (option.is_repeatable) help += " (may be repeated)";
  // A long option pushes its help text to the right.
  return fmt::format("  {:<24}{}{}\n", words, words.size() >= 24 ? "  " : "", help);
}

}  // namespace

std::string command_help(const Command& command, bool is_full, const view::Style& style) {
  std::string text = fmt::format("{}\n\n", style.paint(Tint::bold, command.summary));
  if (!command.examples.empty()) {
    text += style.paint(Tint::bold, "Examples") + "\n";
    for (const Example& example : command.examples) {
      text += fmt::format("  {:<56}  {}\n", example.line, style.paint(Tint::dim, example.what));
    }
    text += '\n';
  }
  text += fmt::format("{}\n  {}\n", style.paint(Tint::bold, "Usage"), usage_of(command));
  for (const Positional& word : command.positionals) text += fmt::format("  {:<22}  {}\n", word.name, word.help);
  text += '\n';
  text += style.paint(Tint::bold, "Options") + "\n";
  for (const Option& option : command.options) text += option_line(option);
  for (const Option& option : common_options()) text += option_line(option);
  if (is_full && !command.about.empty()) text += fmt::format("\n{}\n", command.about);
  return style.words(text);
}

std::string overview(std::string_view group, const view::Style& style) {
  std::string text;
  if (group.empty()) {
    text += style.paint(Tint::bold, "reeve") +
            " runs AI command-line agents unattended and asks you before they do anything that needs approval.\n\n" +
            style.paint(Tint::bold, "Examples") + "\n";
    for (const Example& example :
         {Example{"reeve run -- pytest -q", "supervise a command"}, Example{"reeve", "what needs you now"},
          Example{"reeve approve AP-4", "approve a tool's request"},
          Example{"reeve demo", "see what it does in half a minute"}, Example{"reeve init", "set up this folder"},
          Example{"reeve flow validate release.yaml", "all errors at once, each with a fix"},
          Example{"reeve flow graph release.yaml", "draw the workflow"},
          Example{"reeve flow run release.yaml", "run it and watch"}}) {
      text += fmt::format("  {:<40}{}\n", example.line, style.paint(Tint::dim, example.what));
    }
    text += '\n';
  }
  text += style.paint(Tint::bold, "Commands") + "\n";
  for (const Command& command : all_commands()) {
    const bool is_member = group.empty() || (command.name.starts_with(group) && command.name[group.size()] == ' ');
    if (is_member) text += fmt::format("  {:<20}{}\n", command.name, command.summary);
  }
  text += fmt::format("\n{}\n", style.paint(Tint::bold, "Global options"));
  for (const Option& option : common_options()) text += option_line(option);
  text += "\nRun `reeve COMMAND --help` for the full help of a command.\n";
  return style.words(text);
}

std::string welcome(bool is_project, const view::Style& style) {
  std::string text =
      style.paint(Tint::bold, "reeve") +
      " runs AI command-line agents unattended and asks you before they do anything that needs approval.\n\n";
  if (is_project) {
    text += "This folder is a Reeve project.\n\n";
    text += "  reeve run -- COMMAND                           supervise a command\n";
    text += "  reeve flow graph .reeve/workflows/NAME.yaml    draw a workflow\n";
    text += "  reeve flow run NAME                            run it and watch\n";
    text += "  reeve config show --origin                     show every value and its origin\n";
    text += "  reeve --help                                   all commands\n";
  } else {
    text += "This folder is not a Reeve project yet.\n\n";
    text += "  reeve demo               see what it does in half a minute\n";
    text += "  reeve init               set up this folder: a config and a first workflow\n";
    text += "  reeve run -- COMMAND     supervise a command\n";
    text += "  reeve --help             all commands\n";
  }
  return style.words(text);
}

Command make_help() {
  return {
      .name = "help",
      .summary = "Show the help of a command",
      .about =
          "`reeve help flow graph` is the same as `reeve flow graph --help`. Without a command, lists all commands.",
      .examples = {{"reeve help flow graph", "what it does and every option"}},
      .positionals = {{.name = "COMMAND",
                       .help = "the command, such as `flow graph`",
                       .is_required = false,
                       .is_repeatable = true}},
      .options = {},
      .run =
          [](const Call& call) {
            const std::string name = base::join(call.arguments.positionals(), " ");
            const auto wanted = find_help(name);
            if (!wanted) {
              throw base::Error(base::ErrorCode::cli_usage, fmt::format("unknown command {}", base::quoted(name)),
                                suggest_command(name));
            }
            fmt::print("{}", wanted->command != nullptr ? command_help(*wanted->command, true, call.out)
                                                        : overview(wanted->group, call.out));
            return ExitCode::done;
          },
  };
}

}  // namespace reeve::cli
