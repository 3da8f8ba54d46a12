#include "engine/risk_words.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace reeve::engine {

namespace {

constexpr std::size_t max_bytes = 64UL * 1024;
constexpr std::size_t max_paths = 200;
// Options between `git` and its subcommand: `git -C x -c a=b push`.
constexpr std::size_t max_options = 8;
constexpr std::size_t max_scripts = 8;

constexpr std::string_view separators = " \t\r\n\"'`()[]{}<>|&;,=";
constexpr std::string_view punctuation = ".:!?";

constexpr auto shells = std::to_array<std::string_view>({"sh", "bash", "zsh", "dash", "ksh"});
constexpr auto deleting = std::to_array<std::string_view>({"rm", "rmdir", "unlink", "shred"});
// How agents introduce a shell command.
constexpr auto shell_phrases = std::to_array<std::string_view>({
    "shell command",
    "bash command",
    "run command",
    "run this command",
    "run the command",
    "following command",
    "execute command",
    "execute this command",
    "execute the command",
    "allow execution of",
    "run in the terminal",
    "[shell]",
});
constexpr auto plain_names =
    std::to_array<std::string_view>({"dockerfile", "containerfile", "jenkinsfile", "procfile"});

// Words without quotes and brackets, and without punctuation at their end.
std::vector<std::string_view> find_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, std::min(text.find_first_of(separators), text.size()));
    text.remove_prefix(word.size());
    const std::size_t last = word.find_last_not_of(punctuation);
    if (last != std::string_view::npos) words.push_back(word.substr(0, last + 1));
  }
  return words;
}

std::string program_of(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return base::to_ascii_lower(slash == std::string_view::npos ? word : word.substr(slash + 1));
}

void find_commands(const std::vector<std::string_view>& words, RiskyWords& found) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string program = program_of(words[i]);
    if (program == "git") {
      const auto rest = words.begin() + static_cast<std::ptrdiff_t>(i + 1);
      const auto end = rest + static_cast<std::ptrdiff_t>(std::min(words.size() - i - 1, max_options));
      found.has_push = found.has_push || std::find(rest, end, "push") != end;
    } else if (found.deletes.empty() && std::ranges::find(deleting, program) != deleting.end()) {
      found.deletes = program;
    }
  }
}

// "Delete 300 files?", and a deleting command at the end of a line: "find . | xargs rm".
void find_deletion(const std::vector<std::string_view>& words, RiskyWords& found) {
  constexpr auto verbs = std::to_array<std::string_view>({"delete", "deletes", "erase", "wipe"});
  constexpr auto nouns =
      std::to_array<std::string_view>({"file", "files", "folder", "folders", "directory", "directories", "everything"});
  constexpr std::size_t max_between = 3;
  if (!found.deletes.empty() || words.empty()) return;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string verb = base::to_ascii_lower(words[i]);
    if (std::ranges::find(verbs, verb) == verbs.end()) continue;
    for (std::size_t k = i + 1; k < std::min(words.size(), i + 2 + max_between); ++k) {
      const bool is_noun = std::ranges::find(nouns, base::to_ascii_lower(words[k])) != nouns.end();
      if (is_noun) found.deletes = std::move(verb);
      if (is_noun) return;
    }
  }
  std::string last = program_of(words.back());
  if (std::ranges::find(deleting, last) != deleting.end()) found.deletes = std::move(last);
}

bool is_shell(std::string_view word) { return std::ranges::find(shells, program_of(word)) != shells.end(); }

// "bash -c", as in a question about a command.
bool names_script(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_script = words[i + 1].starts_with('-') && words[i + 1].ends_with('c');
    if (is_script && is_shell(words[i])) return true;
  }
  return false;
}

bool is_option(std::string_view word) { return word.size() > 1 && (word.front() == '-' || word.front() == '+'); }

// The script of a shell with these arguments: "-c", which may be one of several letters, then the first argument that
// is no option. Empty without one.
std::string_view find_script(const std::vector<std::string>& argv, std::size_t first) {
  bool has_script = false;
  for (std::size_t i = first; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (!is_option(word)) return has_script ? std::string_view(word) : std::string_view();
    const bool is_letters = !word.starts_with("--");
    has_script = has_script || (is_letters && word.starts_with('-') && word.contains('c'));
    // "-o pipefail": the option's value.
    if (is_letters && (word.ends_with('o') || word.ends_with('O'))) ++i;
  }
  return {};
}

void add(RiskyWords& found, RiskyWords more) {
  found.has_push = found.has_push || more.has_push;
  found.has_shell = found.has_shell || more.has_shell;
  if (found.deletes.empty()) found.deletes = std::move(more.deletes);
  for (std::string& path : more.paths) {
    if (found.paths.size() < max_paths) found.paths.push_back(std::move(path));
  }
}

bool looks_like_path(std::string_view word) {
  if (word.find("://") != std::string_view::npos) return false;
  if (word.find_first_of("/.") != std::string_view::npos) return true;
  return std::ranges::find(plain_names, base::to_ascii_lower(word)) != plain_names.end();
}

}  // namespace

RiskyWords find_risky_words(std::string_view text) {
  RiskyWords found;
  bool has_script = false;
  text = base::truncate_utf8(text, max_bytes);
  for (const std::string_view line : base::split(text, '\n')) {
    const std::vector<std::string_view> words = find_words(line);
    find_commands(words, found);
    find_deletion(words, found);
    has_script = has_script || names_script(words);
    for (const std::string_view word : words) {
      const bool is_new = looks_like_path(word) && found.paths.size() < max_paths &&
                          std::ranges::find(found.paths, word) == found.paths.end();
      if (is_new) found.paths.emplace_back(word);
    }
  }
  const std::string lower = base::to_ascii_lower(text);
  found.has_shell = has_script || std::ranges::any_of(shell_phrases, [&](std::string_view phrase) {
                      return lower.find(phrase) != std::string::npos;
                    });
  return found;
}

RiskyWords find_risky_command(const std::vector<std::string>& argv) {
  RiskyWords found;
  find_commands({argv.begin(), argv.end()}, found);
  // The shell may be behind `env` or `sudo`.
  std::size_t scripts = 0;
  for (std::size_t i = 0; i < argv.size() && scripts < max_scripts; ++i) {
    if (!is_shell(argv[i])) continue;
    add(found, find_risky_words(find_script(argv, i + 1)));
    ++scripts;
  }
  return found;
}

}  // namespace reeve::engine
