#include "cli/help.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/man.h"
#include "os/file.h"
#include "view/wrap.h"

namespace reeve::cli {

namespace {

using view::Tint;

// The room left beside that many columns; 0 stays "no limit".
std::size_t less(std::size_t columns, std::size_t used) { return columns > used ? columns - used : columns; }

// A term and its explanation, which begins at column `width`, or below the term if it does not fit beside it.
std::string entry(std::string_view term, std::string_view help, std::size_t width, const view::Style& style,
                  std::optional<view::Tint> tint = {}) {
  constexpr std::size_t margin = 2;
  constexpr std::size_t deep = 6;
  constexpr std::size_t least = 24;
  const auto paint = [&](const std::string& text) { return tint ? style.paint(*tint, text) : text; };
  const std::size_t end = margin + base::display_width(term);
  if (help.empty()) return fmt::format("  {}\n", term);
  if (style.columns == 0 || (width + least <= style.columns && end + margin <= width)) {
    const std::size_t begin = std::max(end + margin, width);
    return fmt::format("  {}{}{}\n", term, std::string(begin - end, ' '),
                       paint(view::wrap(help, style.columns, begin)));
  }
  return fmt::format("  {}\n{}{}\n", term, std::string(deep, ' '), paint(view::wrap(help, style.columns, deep)));
}

std::string option_line(const Option& option, const view::Style& style) {
  std::string words =
      option.brief.empty() ? std::string(option.name) : fmt::format("{}, {}", option.brief, option.name);
  if (!option.value.empty()) words += fmt::format(" {}", option.value);
  std::string help(option.help);
  if (option.is_repeatable) help += " (may be repeated)";
  return entry(words, help, 26, style);
}

// The longest example decides where the explanations begin, as far as the terminal allows.
std::size_t example_columns(const std::vector<Example>& examples) {
  constexpr std::size_t most = 60;
  std::size_t width = 0;
  for (const Example& example : examples) width = std::max(width, base::display_width(example.line) + 4);
  return std::min(width, most);
}

std::string examples_section(const std::vector<Example>& examples, const view::Style& style) {
  if (examples.empty()) return {};
  std::string text = style.paint(Tint::bold, "Examples") + "\n";
  const std::size_t width = example_columns(examples);
  for (const Example& example : examples) text += entry(example.line, example.what, width, style, Tint::dim);
  return text + "\n";
}

bool is_member(const Command& command, std::string_view group) {
  if (group.empty()) return true;
  return command.name.size() > group.size() && command.name.starts_with(group) && command.name[group.size()] == ' ';
}

// Of a group: an example of each of its commands.
std::vector<Example> examples_of(std::string_view group) {
  std::vector<Example> examples;
  for (const Command& command : shown_commands()) {
    if (!is_member(command, group)) continue;
    // Some begin with what to do before.
    const auto own = std::ranges::find_if(command.examples, [&](const Example& example) {
      return example.line.contains(fmt::format("reeve {}", command.name));
    });
    if (own == command.examples.end()) continue;
    examples.push_back({own->line, own->what.empty() ? command.summary : own->what});
  }
  return examples;
}

// The names of all commands: those of one word, then a line for each group, "flow run, list, show".
std::string command_names(const view::Style& style) {
  std::vector<std::pair<std::string_view, std::string>> lines = {{"", ""}};
  const std::vector<Command> commands = shown_commands();
  for (const Command& command : commands) {
    const std::size_t blank = command.name.find(' ');
    const bool is_alone = blank == std::string_view::npos;
    const std::string_view group = is_alone ? std::string_view() : command.name.substr(0, blank);
    const auto found = std::ranges::find(lines, group, &std::pair<std::string_view, std::string>::first);
    if (found == lines.end()) {
      lines.emplace_back(group, command.name);
    } else if (found->second.empty()) {
      found->second = command.name;
    } else {
      found->second += fmt::format(", {}", is_alone ? command.name : command.name.substr(blank + 1));
    }
  }
  std::string text;
  for (const auto& [_, line] : lines) text += fmt::format("  {}\n", view::wrap(line, style.columns, 2));
  return text;
}

}  // namespace

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

std::string_view about_reeve() {
  return "runs AI command-line agents unattended and asks you before they do anything that needs approval.";
}

const std::vector<Example>& first_examples() {
  static const std::vector<Example> examples = {
      {"reeve run -- pytest -q", "supervise a command"},
      {"reeve", "what needs you now"},
      {"reeve approve AP-4", "approve a tool's request"},
      {"reeve demo", "see what it does in half a minute"},
      {"reeve init", "set up this folder"},
      {"reeve flow validate release.yaml", "all errors at once, each with a fix"},
      {"reeve flow graph release.yaml", "draw the workflow"},
      {"reeve flow run release.yaml", "run it and watch"},
  };
  return examples;
}

std::string command_help(const Command& command, bool is_full, const view::Style& style) {
  std::string text = fmt::format("{}\n\n", style.paint(Tint::bold, view::wrap(command.summary, style.columns)));
  text += examples_section(command.examples, style);
  text += fmt::format("{}\n  {}\n", style.paint(Tint::bold, "Usage"), view::wrap(usage_of(command), style.columns, 2));
  for (const Positional& word : command.positionals) text += entry(word.name, word.help, 26, style);
  text += '\n';
  if (is_full || !command.options.empty()) text += style.paint(Tint::bold, "Options") + "\n";
  for (const Option& option : command.options) text += option_line(option, style);
  if (!is_full) {
    const std::string more = fmt::format("Run `reeve {} --help` for the full help.", command.name);
    text += fmt::format("{}{}\n", command.options.empty() ? "" : "\n", view::wrap(more, style.columns));
    return style.words(text);
  }
  for (const Option& option : common_options()) text += option_line(option, style);
  if (!command.about.empty()) text += fmt::format("\n{}\n", view::wrap_paragraphs(command.about, style.columns));
  return style.words(text);
}

std::string overview(std::string_view group, bool is_full, const view::Style& style) {
  std::string text;
  if (group.empty()) {
    text += fmt::format("{} {}\n\n{}\n", style.paint(Tint::bold, "reeve"),
                        view::wrap(about_reeve(), less(style.columns, 6)), style.paint(Tint::bold, "Examples"));
    for (const Example& example : first_examples()) text += entry(example.line, example.what, 42, style, Tint::dim);
    text += '\n';
  } else {
    text += examples_section(examples_of(group), style);
  }
  text += style.paint(Tint::bold, "Commands") + "\n";
  if (group.empty() && !is_full) {
    text += command_names(style);
    text +=
        fmt::format("\n{}\n", view::wrap("Run `reeve --help` for what each of them does, `reeve COMMAND -h` for its "
                                         "examples, `reeve COMMAND --help` for its full help.",
                                         style.columns));
    return style.words(text);
  }
  for (const Command& command : shown_commands()) {
    if (is_member(command, group)) text += entry(command.name, command.summary, 22, style);
  }
  if (is_full) {
    text += fmt::format("\n{}\n", style.paint(Tint::bold, "Global options"));
    for (const Option& option : common_options()) text += option_line(option, style);
  }
  text += "\nRun `reeve COMMAND --help` for the full help of a command.\n";
  return style.words(text);
}

std::string welcome(bool is_project, const view::Style& style) {
  std::string text =
      fmt::format("{} {}\n\n", style.paint(Tint::bold, "reeve"), view::wrap(about_reeve(), less(style.columns, 6)));
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
    text += "  reeve init               set up this folder: a config and workflows that run\n";
    text += "  reeve run -- COMMAND     supervise a command\n";
    text += "  reeve --help             all commands\n";
  }
  return style.words(text);
}

namespace {

void write_man_pages(const std::filesystem::path& folder) {
  for (const ManPage& page : make_man_pages()) {
    const std::filesystem::path file = folder / page.file;
    os::create_folders(file.parent_path());
    os::replace_file(file, page.text);
  }
}

}  // namespace

Command make_help() {
  return {
      .name = "help",
      .summary = "Show the help of a command",
      .about =
          "`reeve help flow graph` is the same as `reeve flow graph --help`. Without a command, lists all commands.",
      .examples = {{"reeve help flow graph", "what it does and every option"},
                   {"reeve help --man ~/.local/share/man", "write the manual pages, for `man reeve`"}},
      .positionals = {{.name = "COMMAND",
                       .help = "the command, such as `flow graph`",
                       .is_required = false,
                       .is_repeatable = true}},
      .options = {{.name = "--man", .value = "DIR", .help = "write manual pages of all commands and files into DIR"}},
      .run =
          [](const Call& call) {
            if (const auto folder = call.arguments.value("--man")) {
              write_man_pages(*folder);
              return ExitCode::done;
            }
            const std::string name = base::join(call.arguments.positionals(), " ");
            const auto wanted = find_help(name);
            if (!wanted) {
              const std::string hint = suggest_command(name);
              throw base::Error(base::ErrorCode::cli_usage, fmt::format("unknown command {}", base::quoted(name)),
                                hint.empty() ? "`reeve help` lists all commands" : hint);
            }
            fmt::print("{}", wanted->command != nullptr ? command_help(*wanted->command, true, call.out)
                                                        : overview(wanted->group, true, call.out));
            return ExitCode::done;
          },
  };
}

}  // namespace reeve::cli
