#include "cli/command_line.h"

#include <algorithm>
#include <deque>
#include <set>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/familiar_words.h"
#include "cli/scope.h"
#include "cli/sources.h"

namespace reeve::cli {

namespace {

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &Option::name);
  return found != options.end() ? &*found : nullptr;
}

// The words that can follow a prefix of a command: "flow" → validate, graph.
std::vector<std::string> next_words(std::string_view path) {
  std::set<std::string> words;
  for (const Command& command : all_commands()) {
    std::string_view rest = command.name;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.size() <= path.size() || rest[path.size()] != ' ') continue;
      rest.remove_prefix(path.size() + 1);
    }
    words.emplace(rest.substr(0, rest.find(' ')));
  }
  return {words.begin(), words.end()};
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(all_commands(), name, &Command::name);
  return found != all_commands().end() ? &*found : nullptr;
}

// The words that name the command, and the others in order.
struct Split {
  std::string path;
  std::vector<std::string> rest;
  // An unknown word where a subcommand was expected.
  std::string unknown;
};

Split split_words(const std::vector<std::string>& words) {
  Split split;
  bool has_own_words = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::vector<std::string> known = next_words(split.path);
    const bool is_known = std::ranges::find(known, word) != known.end();
    // The longest name wins (`approvals list` over `approvals`), but not after arguments of the shorter command.
    const Command* command = find_command(split.path);
    has_own_words = has_own_words || (command != nullptr && !is_known && (word == "--" || !word.starts_with('-')));
    const bool is_complete = (command != nullptr && (!is_known || has_own_words)) || !split.unknown.empty();
    if (is_complete || word.starts_with('-')) {
      split.rest.push_back(word);
      // The value of an option does not name a command.
      const Option* option = find_option(common_options(), word);
      if (option == nullptr && command == nullptr) option = find_option(scope_options(), word);
      if (option == nullptr && command != nullptr) option = find_option(command->options, word);
      if (option != nullptr && !option->value.empty() && i + 1 < words.size()) split.rest.push_back(words[++i]);
      continue;
    }
    if (!is_known) {
      split.unknown = word;
    } else {
      split.path += (split.path.empty() ? "" : " ") + word;
    }
  }
  return split;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view prefix) {
  const auto meant = base::find_closest(word, known);
  return meant ? fmt::format("did you mean `{}{}`?", prefix, *meant) : std::string();
}

bool takes_foreign_words(const Command& command) {
  return !command.positionals.empty() && command.positionals.back().is_foreign;
}

UsageError unknown_option(const Command& command, std::string_view word) {
  std::vector<std::string> known = {"-h"};
  for (const Option& option : command.options) {
    known.emplace_back(option.name);
    if (!option.brief.empty()) known.emplace_back(option.brief);
  }
  for (const Option& option : common_options()) known.emplace_back(option.name);
  const std::string_view name = word.substr(0, word.find('='));
  std::string hint = did_you_mean(name, known, "");
  if (hint.empty() && takes_foreign_words(command)) hint = "put the command's own options after `--`";
  return {fmt::format("`reeve {}` has no option {}", command.name, base::quoted(name)), std::move(hint),
          std::string(command.name)};
}

UsageError wrong_choice(const Command& command, std::string_view what, std::string_view word,
                        const std::vector<std::string_view>& choices) {
  const std::vector<std::string> known(choices.begin(), choices.end());
  std::string hint = did_you_mean(word, known, "");
  if (hint.empty()) hint = fmt::format("one of: {}", base::join(known, ", "));
  return {fmt::format("{} is not a valid value for {}", base::quoted(word), what), std::move(hint),
          std::string(command.name)};
}

// CLI11 splits the words; their meaning is checked here, because its own messages have no "did you mean".
class CallParser {
 public:
  explicit CallParser(const Command& command) : command_(command) {
    app_.set_help_flag();
    app_.allow_extras();
    app_.add_flag("-h", short_help_);
    for (const Option& option : command.options) add(option);
    for (const Option& option : common_options()) add(option);
  }

  ParsedLine parse(std::vector<std::string> words) {
    // Words after `--` are passed unchanged.
    const auto dashes = std::ranges::find(words, "--");
    std::vector<std::string> verbatim;
    if (dashes != words.end()) {
      verbatim.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
    if (auto error = check_equals(words)) return std::move(*error);
    // CLI11 expects the words in reverse order.
    std::ranges::reverse(words);
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return explain(error);
    }
    if (short_help_ || app_.count("--help") > 0) {
      return HelpWanted{.command = &command_, .group = {}, .is_full = !short_help_};
    }
    return collect(std::move(verbatim));
  }

 private:
  void add(const Option& option) {
    std::string names(option.name);
    if (!option.brief.empty()) names += fmt::format(",{}", option.brief);
    if (option.value.empty()) {
      switches_.push_back(false);
      app_.add_flag(names, switches_.back());
    } else {
      texts_.emplace_back();
      app_.add_option(names, texts_.back())
          ->expected(1)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
          ->allow_extra_args(false);
    }
  }

  // CLI11 would take the next word as the value of `--x=`, and accepts values for switches.
  std::optional<UsageError> check_equals(const std::vector<std::string>& words) const {
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (!word.starts_with("--") || equals == std::string::npos) continue;
      const std::string name = word.substr(0, equals);
      const Option* option = find_option(command_.options, name);
      if (option == nullptr) option = find_option(common_options(), name);
      if (option == nullptr) continue;
      if (option->value.empty()) {
        return UsageError{fmt::format("`{}` takes no value", name), "", std::string(command_.name)};
      }
      if (equals + 1 == word.size()) {
        return UsageError{fmt::format("`{}` needs a value", name), "", std::string(command_.name)};
      }
    }
    return std::nullopt;
  }

  ParsedLine explain(const CLI::ParseError& error) const {
    // The only error that CLI11 itself can find in these options is a missing value.
    const std::string what = error.what();
    const std::string name = what.substr(0, what.find(':'));
    if (name.starts_with("--")) {
      return UsageError{fmt::format("`{}` needs a value", name), "", std::string(command_.name)};
    }
    return UsageError{what, "", std::string(command_.name)};
  }

  bool frees_words() const {
    return std::ranges::any_of(command_.options, [&](const Option& option) {
      return option.frees_words && app_.count(std::string(option.name)) > 0;
    });
  }

  ParsedLine collect(const std::vector<std::string>& verbatim) {
    Arguments arguments;
    for (const std::string& word : app_.remaining()) {
      if (word.size() > 1 && word.starts_with('-')) return unknown_option(command_, word);
      if (takes_foreign_words(command_) && !frees_words()) {
        return UsageError{fmt::format("put the command after `--`: reeve {} -- {}", command_.name, base::visible(word)),
                          "", std::string(command_.name)};
      }
      add_positional(arguments, word);
    }
    for (const std::string& word : verbatim) add_positional(arguments, word);
    for (const std::vector<Option>* options : {&command_.options, &common_options()}) {
      for (const Option& option : *options) {
        if (auto error = collect_option(option, arguments)) return std::move(*error);
      }
    }
    if (auto error = check_positionals(arguments)) return std::move(*error);
    return ParsedCall{&command_, std::move(arguments)};
  }

  std::optional<UsageError> collect_option(const Option& option, Arguments& arguments) {
    const CLI::Option* parsed = app_.get_option(std::string(option.name));
    if (parsed->count() == 0) {
      if (!option.is_required) return std::nullopt;
      return UsageError{fmt::format("`{}` is missing", option.name),
                        fmt::format("add {} {}", option.name, option.value), std::string(command_.name)};
    }
    if (option.value.empty()) {
      arguments.add_option(option.name, {});
      return std::nullopt;
    }
    if (parsed->count() > 1 && !option.is_repeatable) {
      return UsageError{fmt::format("`{}` was given more than once", option.name), "", std::string(command_.name)};
    }
    for (const std::string& value : parsed->results()) {
      const bool is_known = option.choices.empty() || std::ranges::find(option.choices, value) != option.choices.end();
      if (!is_known) return wrong_choice(command_, fmt::format("`{}`", option.name), value, option.choices);
    }
    arguments.add_option(option.name, parsed->results());
    return std::nullopt;
  }

  std::optional<UsageError> check_positionals(const Arguments& arguments) const {
    const std::vector<std::string>& given = arguments.positionals();
    const std::vector<Positional>& wanted = command_.positionals;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (i >= given.size()) {
        if (!wanted[i].is_required) break;
        return UsageError{fmt::format("{} is missing", wanted[i].name),
                          fmt::format("{}: {}", wanted[i].name, wanted[i].help), std::string(command_.name)};
      }
      const auto& choices = wanted[i].choices;
      if (!choices.empty() && std::ranges::find(choices, given[i]) == choices.end()) {
        return wrong_choice(command_, wanted[i].name, given[i], choices);
      }
    }
    const bool takes_more = !wanted.empty() && wanted.back().is_repeatable;
    if (given.size() > wanted.size() && !takes_more) {
      const std::string& word = given[wanted.size()];
      return UsageError{fmt::format("unexpected argument {}", base::quoted(word)),
                        did_you_mean(word, next_words(command_.name), fmt::format("reeve {} ", command_.name)),
                        std::string(command_.name)};
    }
    return std::nullopt;
  }

  // Commands see ids without their prefix: it only selects the state folder (find_prefixed_state).
  void add_positional(Arguments& arguments, const std::string& word) const {
    const std::size_t last = command_.positionals.empty() ? 0 : command_.positionals.size() - 1;
    const std::size_t i = std::min(arguments.positionals().size(), last);
    const bool is_id = i < command_.positionals.size() && command_.positionals[i].is_id;
    if (is_id) arguments.add_id(word);
    // `@AP-4`, as completed after `@`, is AP-4.
    const bool has_at = is_id && word.starts_with('@') && word.contains('-');
    arguments.add_positional(is_id ? without_prefix(has_at ? word.substr(1) : word) : word);
  }

  const Command& command_;
  CLI::App app_;
  bool short_help_ = false;
  std::deque<bool> switches_;
  std::deque<std::vector<std::string>> texts_;
};

// The options of `reeve` alone besides its help.
const Option* find_alone_option(std::string_view name) {
  const Option* option = find_option(common_options(), name);
  return option != nullptr ? option : find_option(scope_options(), name);
}

// Checks a line without a command.
std::optional<UsageError> check_common_options(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const Option* option = find_alone_option(name);
    if (option == nullptr) {
      if (name == "-h" || name == "--version") continue;
      std::vector<std::string> known;
      for (const Option& common : common_options()) known.emplace_back(common.name);
      for (const Option& own : scope_options()) known.emplace_back(own.name);
      return UsageError{fmt::format("unknown option {}", base::quoted(words[i])), did_you_mean(name, known, ""), ""};
    }
    if (option->value.empty() || equals != std::string::npos) continue;
    if (++i == words.size()) return UsageError{fmt::format("`{}` needs a value", name), "", ""};
  }
  return std::nullopt;
}

}  // namespace

ParsedLine parse_command_line(const std::vector<std::string>& words) {
  const Split split = split_words(words);
  const auto is_given = [&](std::string_view flag) { return std::ranges::find(split.rest, flag) != split.rest.end(); };
  if (!split.unknown.empty()) {
    const std::vector<std::string> known = next_words(split.path);
    const std::string prefix = split.path.empty() ? "reeve " : fmt::format("reeve {} ", split.path);
    std::string hint = find_familiar(split.path, split.unknown, split.rest);
    if (hint.empty()) hint = did_you_mean(split.unknown, known, prefix);
    return UsageError{fmt::format("unknown command {}", base::quoted(prefix + split.unknown)), std::move(hint),
                      split.path};
  }
  if (const Command* command = find_command(split.path)) return CallParser(*command).parse(split.rest);
  if (is_given("--version")) return ParsedCall{find_command("version"), find_common_options(words)};
  if (split.path.empty() || is_given("-h") || is_given("--help")) {
    if (auto error = check_common_options(split.rest)) return std::move(*error);
    const bool wants_help = is_given("-h") || is_given("--help");
    if (!wants_help) return Alone{find_common_options(words)};
    return HelpWanted{.command = nullptr, .group = split.path, .is_full = is_given("--help")};
  }
  return UsageError{fmt::format("`reeve {}` needs a subcommand", split.path),
                    fmt::format("one of: {}", base::join(next_words(split.path), ", ")), split.path};
}

Arguments find_common_options(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::size_t equals = words[i].find('=');
    const Option* option = find_alone_option(words[i].substr(0, equals));
    if (option == nullptr) continue;
    if (option->value.empty()) {
      if (equals == std::string::npos) arguments.add_option(option->name, {});
      continue;
    }
    const bool is_apart = equals == std::string::npos && i + 1 < words.size();
    const std::string value = is_apart ? words[++i] : equals != std::string::npos ? words[i].substr(equals + 1) : "";
    const bool is_free = option->choices.empty() && !value.empty();
    if (is_free || std::ranges::find(option->choices, value) != option->choices.end())
      arguments.add_option(option->name, {value});
  }
  return arguments;
}

std::optional<HelpWanted> find_help(const std::string& name) {
  if (const Command* command = find_command(name)) return HelpWanted{.command = command, .group = {}, .is_full = true};
  if (name.empty() || !next_words(name).empty()) return HelpWanted{.command = nullptr, .group = name, .is_full = true};
  return std::nullopt;
}

std::string suggest_command(const std::string& name) {
  if (std::string hint = find_familiar("", name, {}); !hint.empty()) return hint;
  std::set<std::string> known;
  for (const Command& command : all_commands()) {
    known.emplace(command.name);
    known.emplace(command.name.substr(0, command.name.find(' ')));
  }
  return did_you_mean(name, {known.begin(), known.end()}, "reeve ");
}

}  // namespace reeve::cli
