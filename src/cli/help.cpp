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
  // A long one has the line to itself as far as it needs it.
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
            " runs AI command-line agents unattended, with a person at the gate.\n\n" +
            style.paint(Tint::bold, "Examples") + "\n";
    for (const Example& example :
         {Example{"reeve run -- pytest -q", "supervise a command"}, Example{"reeve", "what needs you now"},
          Example{"reeve approve AP-4", "say yes to what a tool asks"},
          Example{"reeve demo", "what it is for, in half a minute"}, Example{"reeve init", "set up this folder"},
          Example{"reeve flow validate release.yaml", "all mistakes at once, each with its fix"},
          Example{"reeve flow graph release.yaml", "see the workflow"},
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
  text += fmt::format("\n{}\n", style.paint(Tint::bold, "Options of every command"));
  for (const Option& option : common_options()) text += option_line(option);
  text += "\nreeve COMMAND --help tells more about one.\n";
  return style.words(text);
}

std::string welcome(bool is_project, const view::Style& style) {
  std::string text =
      style.paint(Tint::bold, "reeve") + " runs AI command-line agents unattended, with a person at the gate.\n\n";
  if (is_project) {
    text += "This folder is a Reeve project.\n\n";
    text += "  reeve run -- COMMAND                           supervise a command\n";
    text += "  reeve flow graph .reeve/workflows/NAME.yaml    see a workflow\n";
    text += "  reeve flow run NAME                            run it and watch\n";
    text += "  reeve config show --origin                     every value and its origin\n";
    text += "  reeve --help                                   all commands\n";
  } else {
    text += "This folder is no Reeve project yet.\n\n";
    text += "  reeve demo               see what it does, in half a minute\n";
    text += "  reeve init               set this folder up: a config and a first workflow\n";
    text += "  reeve run -- COMMAND     supervise a command\n";
    text += "  reeve --help             all commands\n";
  }
  return style.words(text);
}

Command make_help() {
  return {
      .name = "help",
      .summary = "The help of a command",
      .about = "`reeve help flow graph` is `reeve flow graph --help`; without a command it lists them all.",
      .examples = {{"reeve help flow graph", "what it does and every option"}},
      .positionals = {{.name = "COMMAND", .help = "its words", .is_required = false, .is_repeatable = true}},
      .options = {},
      .run =
          [](const Call& call) {
            const std::string name = base::join(call.arguments.positionals(), " ");
            const auto wanted = find_help(name);
            if (!wanted) {
              throw base::Error("cli.usage", fmt::format("no command {}", base::quoted(name)), suggest_command(name));
            }
            fmt::print("{}", wanted->command != nullptr ? command_help(*wanted->command, true, call.out)
                                                        : overview(wanted->group, call.out));
            return ExitCode::done;
          },
  };
}

}  // namespace reeve::cli
