#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/id.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"

namespace reeve::cli {

namespace {

// The candidates at one position of the line: after the words of `path`.
struct Stop {
  std::string path;
  // The next words of commands, with their summaries.
  std::vector<std::pair<std::string, std::string>> words;
  const Command* command = nullptr;
};

std::vector<Stop> all_stops() {
  std::vector<Stop> stops = {{"", {}, nullptr}};
  const auto stop_at = [&](const std::string& path) -> Stop& {
    const auto found = std::ranges::find(stops, path, &Stop::path);
    if (found != stops.end()) return *found;
    return stops.emplace_back(Stop{path, {}, nullptr});
  };
  for (const Command& command : all_commands()) {
    if (command.is_internal) continue;
    std::string path;
    for (const std::string_view part : base::split(command.name, ' ')) {
      Stop& stop = stop_at(path);
      const std::string word(part);
      if (std::ranges::find(stop.words, word, &std::pair<std::string, std::string>::first) == stop.words.end()) {
        const std::string next = path.empty() ? word : path + " " + word;
        stop.words.emplace_back(word, next == command.name ? std::string(command.summary) : next + " commands");
      }
      path += (path.empty() ? "" : " ") + word;
    }
    stop_at(path).command = &command;
  }
  return stops;
}

std::vector<Option> options_of(const Command* command) {
  std::vector<Option> options;
  if (command != nullptr) options = command->options;
  options.insert(options.end(), common_options().begin(), common_options().end());
  return options;
}

template <class Words>
std::string spaced(const Words& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.emplace_back(option.name);
  return names;
}

// The words that may come next, besides options.
std::vector<std::string> candidates(const Stop& stop) {
  std::vector<std::string> words;
  for (const auto& [word, _] : stop.words) words.push_back(word);
  if (stop.command != nullptr && !stop.command->positionals.empty()) {
    for (const std::string_view choice : stop.command->positionals.front().choices) words.emplace_back(choice);
  }
  return words;
}

bool takes_files(const Stop& stop) {
  return stop.command != nullptr &&
         std::ranges::any_of(stop.command->positionals, [](const Positional& word) { return word.is_file; });
}

// The kinds of ids that the command takes: the help of a word shows one of each, "TR-17, EX-9, or @last".
std::vector<std::string> id_kinds(const Stop& stop) {
  std::vector<std::string> kinds;
  if (stop.command == nullptr) return kinds;
  for (const Positional& word : stop.command->positionals) {
    for (const std::string_view kind : {base::ApprovalId::prefix, base::RunId::prefix, base::ExecutionId::prefix,
                                        base::PatchId::prefix, base::CallId::prefix, base::GrantId::prefix}) {
      const std::size_t at = word.help.find(fmt::format("{}-", kind));
      const bool is_id =
          at != std::string_view::npos && at + 3 < word.help.size() && base::is_ascii_digit(word.help[at + 3]);
      if (is_id) kinds.emplace_back(kind);
    }
    if (word.help.contains("project workflow")) kinds.emplace_back("workflow");
  }
  return kinds;
}

// Whether the command takes `@last`, the newest of its kind.
bool takes_last(const Stop& stop) {
  return stop.command != nullptr && std::ranges::any_of(stop.command->positionals, [](const Positional& word) {
           return word.help.contains("@last");
         });
}

// A case for each position, shared by the two shells with the same `case` syntax.
std::string shell_cases(std::string_view indent) {
  std::string text;
  for (const Stop& stop : all_stops()) {
    text += fmt::format("{}'{}') commands='{}' options='{}' files={} ids='{}' last='{}' ;;\n", indent, stop.path,
                        spaced(candidates(stop)), spaced(names_of(options_of(stop.command))),
                        takes_files(stop) ? "yes" : "no", spaced(id_kinds(stop)), takes_last(stop) ? "@last" : "");
  }
  return text;
}

std::string path_patterns() {
  std::vector<std::string> paths;
  for (const Stop& stop : all_stops()) {
    if (!stop.path.empty()) paths.push_back(fmt::format("'{}'", stop.path));
  }
  return fmt::format("{}", fmt::join(paths, "|"));
}

// "path:--option" → its choices.
std::string choice_cases(std::string_view indent) {
  std::string text;
  for (const Stop& stop : all_stops()) {
    for (const Option& option : options_of(stop.command)) {
      if (option.choices.empty()) continue;
      text += fmt::format("{}'{}:{}') choices='{}' ;;\n", indent, stop.path, option.name, spaced(option.choices));
    }
  }
  return text;
}

std::string bash_script() {
  return fmt::format(
      R"(# bash completion for reeve: source this, or put it into ~/.local/share/bash-completion/completions/reeve
# `@last` is one word, and after `@` the ids replace it.
COMP_WORDBREAKS=${{COMP_WORDBREAKS//@}}
_reeve() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' next i commands='' options='' files=no choices='' ids='' last='' found=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] && continue
    next="${{path:+$path }}${{COMP_WORDS[i]}}"
    case $next in {}) path=$next ;; esac
  done
  case $path:$previous in
{}  esac
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
    return
  fi
  case $path in
{}  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  if [[ -n $ids && " ${{COMP_WORDS[*]}}" != *' --'@(state|host)* ]]; then
    mapfile -t found < <(reeve completion ids $ids 2>/dev/null)
    for i in "${{found[@]%%$'\t'*}}"; do
      [[ $current == @* || ${{i^^}} == "${{current^^}}"* ]] && COMPREPLY+=("$i")
    done
  fi
  [[ $current == @* && $last == "$current"* ]] && COMPREPLY+=("$last")
  if [[ $files == yes ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _reeve reeve
)",
      path_patterns(), choice_cases("    "), shell_cases("    "));
}

std::string zsh_script() {
  return fmt::format(R"(#compdef reeve
# zsh completion for reeve: put this as `_reeve` into a folder of your $fpath.
_reeve() {{
  local current=$words[CURRENT] previous=$words[CURRENT-1]
  local path_words='' next='' commands='' options='' files=no choices='' ids='' last='' listed i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    [[ $words[i] == -* ]] && continue
    next="${{path_words:+$path_words }}$words[i]"
    case $next in {}) path_words=$next ;; esac
  done
  case $path_words:$previous in
{}  esac
  if [[ -n $choices ]]; then
    compadd -- ${{=choices}}
    return
  fi
  case $path_words in
{}  esac
  if [[ $current == -* ]]; then
    compadd -- ${{=options}}
    return
  fi
  [[ -n $commands ]] && compadd -- ${{=commands}}
  if [[ -n $ids && "$words" != *' --'(state|host)* ]]; then
    listed=$(reeve completion ids ${{=ids}} 2>/dev/null)
    found=(${{${{(f)listed}}%%$'\t'*}})
    if [[ $current == @* ]]; then
      compadd -U -- $found $last
    else
      compadd -M 'm:{{a-z}}={{A-Z}}' -- $found
    fi
  fi
  [[ $files == yes ]] && _files
  return 0
}}
if [[ $funcstack[1] == _reeve ]]; then
  _reeve "$@"
else
  compdef _reeve reeve
fi
)",
                     path_patterns(), choice_cases("    "), shell_cases("    "));
}

std::string fish_quote(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_script() {
  std::string text = R"(# fish completion for reeve: put this into ~/.config/fish/completions/reeve.fish
function __reeve_at
    set -l words
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; or set -a words $word
    end
    if test "$argv[2]" = rest
        test "$argv[3]" = at; and not string match -q -- '@*' (commandline -ct); and return 1
        test "$words" = "$argv[1]"; or string match -q -- "$argv[1] *" "$words"
    else
        test "$words" = "$argv[1]"
    end
end
# fish offers only what continues the word: after `@`, the ids with it, which commands take as well.
function __reeve_ids
    command -q reeve; or return
    set -l at ''
    string match -q -- '@*' (commandline -ct); and set at @
    for line in (reeve completion ids $argv 2>/dev/null)
        echo $at$line
    end
end
complete -c reeve -f
)";
  for (const Stop& stop : all_stops()) {
    const std::string here = fmt::format("__reeve_at {}", fish_quote(stop.path));
    for (const auto& [word, what] : stop.words) {
      text += fmt::format("complete -c reeve -n {} -a {} -d {}\n", fish_quote(here), word, fish_quote(what));
    }
    if (stop.command == nullptr) continue;
    const std::string inside = fish_quote(here + " rest");
    for (const Positional& positional : stop.command->positionals) {
      for (const std::string_view choice : positional.choices) {
        text += fmt::format("complete -c reeve -n {} -a {}\n", fish_quote(here), choice);
      }
      if (positional.is_file) text += fmt::format("complete -c reeve -n {} -F\n", inside);
    }
    if (const auto kinds = id_kinds(stop); !kinds.empty()) {
      text += fmt::format("complete -c reeve -n {} -k -a '(__reeve_ids {})'\n", inside, spaced(kinds));
    }
    if (takes_last(stop)) {
      text += fmt::format("complete -c reeve -n {} -a @last -d 'the newest'\n", fish_quote(here + " rest at"));
    }
    for (const Option& option : options_of(stop.command)) {
      text +=
          fmt::format("complete -c reeve -n {} -l {} -d {}", inside, option.name.substr(2), fish_quote(option.help));
      if (!option.brief.empty()) text += fmt::format(" -s {}", option.brief.substr(1));
      if (!option.value.empty()) text += " -x";
      if (!option.choices.empty()) text += fmt::format(" -a {}", fish_quote(spaced(option.choices)));
      text += '\n';
    }
  }
  return text;
}

ExitCode run(const Call& call) {
  const std::string shell = call.arguments.positional(0);
  const std::string script = shell == "bash" ? bash_script() : shell == "zsh" ? zsh_script() : fish_script();
  if (call.is_json) {
    base::Value record = base::Value::object();
    record.set("shell", base::Value::string(shell));
    record.set("script", base::Value::string(script));
    print_json(call, record);
  } else {
    fmt::print("{}", script);
  }
  return ExitCode::done;
}

}  // namespace

Command make_completion() {
  return {
      .name = "completion",
      .summary = "Print a completion script for your shell",
      .about = R"(Prints a script for the shell. bash: `source <(reeve completion bash)` in ~/.bashrc. zsh: save it as
`_reeve` in a folder on $fpath. fish: save it as ~/.config/fish/completions/reeve.fish.)",
      .examples = {{"source <(reeve completion bash)", "in ~/.bashrc"},
                   {"reeve completion zsh > ~/.zfunc/_reeve", ""},
                   {"reeve completion fish > ~/.config/fish/completions/reeve.fish", ""}},
      .positionals = {{.name = "SHELL", .help = "bash, zsh or fish", .choices = {"bash", "zsh", "fish"}}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
