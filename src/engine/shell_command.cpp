#include "engine/shell_command.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace reeve::engine {

namespace {

// Reserved words, and builtins that run a text or another command, change what later words mean, or evaluate an
// argument as an expression (`test -v 'a[$(id)]'`). Quoting hides a reserved word, never a builtin.
constexpr auto refused_commands = std::to_array<std::string_view>({
    // reserved words of sh, bash, ksh and zsh
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "while",
    "until",
    "for",
    "foreach",
    "end",
    "do",
    "done",
    "case",
    "esac",
    "in",
    "select",
    "function",
    "repeat",
    "time",
    "coproc",
    "nocorrect",
    "noglob",
    "namespace",
    // run something else
    "eval",
    "exec",
    "source",
    ".",
    "command",
    "builtin",
    "trap",
    "bg",
    "fg",
    "jobs",
    "fc",
    "r",
    "hist",
    "history",
    "always",
    "sched",
    "redirect",
    "login",
    "newgrp",
    "-",
    // change the shell
    "set",
    "unset",
    "export",
    "readonly",
    "declare",
    "typeset",
    "local",
    "integer",
    "float",
    "nameref",
    "alias",
    "unalias",
    "shopt",
    "setopt",
    "unsetopt",
    "emulate",
    "enable",
    "disable",
    "hash",
    "rehash",
    "unhash",
    "autoload",
    "functions",
    "unfunction",
    "zmodload",
    "zcompile",
    "zle",
    "zstyle",
    "zparseopts",
    "vared",
    "print",
    "pushln",
    "printf",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "test",
    "cd",
    "chdir",
    "pushd",
    "popd",
    "dirs",
    "umask",
    "ulimit",
    "limit",
    "unlimit",
    "wait",
    "suspend",
    "disown",
    "return",
    "break",
    "continue",
    "exit",
    "logout",
    "bye",
    "shift",
    "times",
    "bind",
    "bindkey",
    "complete",
    "compgen",
    "compopt",
    "caller",
    "whence",
    "where",
    "log",
    "ttyctl",
    "enum",
    "compound",
    "private",
});

// Characters that no shell treats specially anywhere in an unquoted word, apart from `=` and `%` at its start.
bool is_plain(char c) {
  return base::is_ascii_letter(c) || base::is_ascii_digit(c) || std::string_view("_-+.,/:@%=").contains(c);
}

// Blanks that look like a space or like nothing, and characters without a meaning.
bool is_unclear(char32_t c) {
  const auto is_between = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return c == 0xA0 || c == 0xAD || c == 0x1680 || is_between(0x2000, 0x200F) || is_between(0x2028, 0x202F) ||
         is_between(0x205F, 0x206F) || c == 0x2800 || c == 0x3000 || c == 0x3164 || c == 0xFFA0 ||
         is_between(0x115F, 0x1160) || is_between(0xE000, 0xF8FF) || is_between(0xFE00, 0xFE0F) || c == 0xFEFF ||
         is_between(0xFFF0, 0xFFFF) || c >= 0xE0000 || (c & 0xFFFE) == 0xFFFE;
}

// Whether everyone who reads the text sees the character.
bool is_visible(const base::Character& character, std::string_view bytes) {
  return character.is_valid && !base::is_harmful(character.value) && !is_unclear(character.value) &&
         base::display_width(bytes) > 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::vector<std::string>> parse() {
    if (text_.size() > max_shell_text) return std::nullopt;
    while (skip_spaces()) {
      if (words_.size() == max_shell_words || !read_word()) return std::nullopt;
    }
    if (words_.empty() || !is_command(words_.front())) return std::nullopt;
    return std::move(words_);
  }

 private:
  // False at the end.
  bool skip_spaces() {
    const std::size_t rest = text_.find_first_not_of(' ');
    text_.remove_prefix(rest == std::string_view::npos ? text_.size() : rest);
    return !text_.empty();
  }

  bool read_word() {
    // `%1` is a job.
    if (text_.front() == '%') return false;
    std::string word;
    bool has_equals = false;
    while (!text_.empty() && text_.front() != ' ') {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '\'' || c == '"') {
        if (!read_quoted(c, word)) return false;
      } else if (is_plain(c)) {
        // zsh replaces `=name` by a path, also after empty quotes.
        if (c == '=' && word.empty()) return false;
        has_equals = has_equals || c == '=';
        word += c;
      } else {
        return false;
      }
    }
    // An assignment.
    if (words_.empty() && has_equals) return false;
    words_.push_back(std::move(word));
    return true;
  }

  bool read_quoted(char quote, std::string& word) {
    while (!text_.empty()) {
      const base::Character character = base::first_character(text_);
      const std::string_view bytes = text_.substr(0, character.length);
      text_.remove_prefix(character.length);
      if (bytes.front() == quote) return true;
      if (!is_visible(character, bytes)) return false;
      if (quote == '"' && std::string_view("$`\\!").contains(bytes.front())) return false;
      word += bytes;
    }
    return false;
  }

  // Quoted names count too: the person and the rules would see a name that no program has.
  static bool is_command(std::string_view name) {
    return !name.empty() && name.front() != '-' && std::ranges::all_of(name, is_plain) &&
           name.find('=') == std::string_view::npos && name.find('%') == std::string_view::npos &&
           std::ranges::find(refused_commands, name) == refused_commands.end();
  }

  std::string_view text_;
  std::vector<std::string> words_;
};

}  // namespace

std::optional<std::vector<std::string>> parse_simple_command(std::string_view text) { return Parser(text).parse(); }

std::optional<std::string> format_simple_command(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    const bool is_bare =
        !word.empty() && std::ranges::all_of(word, is_plain) && word.front() != '=' && word.front() != '%';
    if (is_bare) {
      text += word;
      continue;
    }
    // A single quote cannot stand in single quotes.
    text += '\'';
    for (const char c : word) c == '\'' ? text += "'\"'\"'" : text += c;
    text += '\'';
  }
  if (parse_simple_command(text) != argv) return std::nullopt;
  return text;
}

}  // namespace reeve::engine
