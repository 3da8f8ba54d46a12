#include "engine/shell_command.h"

#include <array>
#include <charconv>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

namespace reeve::engine {
namespace {

using Argv = std::vector<std::string>;

struct ShellCase {
  std::string text;
  // Nothing: not one simple command.
  std::optional<Argv> argv;
};

std::string parse_text(std::string_view column) {
  if (!column.starts_with("hex:")) return *json::parse(column).value().as_string();
  std::string bytes;
  for (std::size_t i = 4; i + 1 < column.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(column.data() + i, column.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

// tests/corpora/shell_commands.txt: verdict, text and argument vector, separated by tabs.
const std::vector<ShellCase>& read_corpus() {
  static const std::vector<ShellCase> corpus = [] {
    std::vector<ShellCase> cases;
    const std::string file = testing::read_text(testing::source_folder() / "tests/corpora/shell_commands.txt");
    for (const std::string_view line : base::split(file, '\n')) {
      if (line.empty() || line.starts_with('#')) continue;
      const std::vector<std::string_view> columns = base::split(line, '\t');
      ShellCase& found = cases.emplace_back(ShellCase{.text = parse_text(columns.at(1)), .argv = {}});
      if (columns.front() == "not") continue;
      found.argv.emplace();
      const base::Value argv = json::parse(columns.at(2)).value();
      for (const base::Value& word : *argv.as_array()) found.argv->push_back(*word.as_string());
    }
    return cases;
  }();
  return corpus;
}

std::string show(const std::optional<Argv>& argv) {
  if (!argv) return "not simple";
  base::Value list = base::Value::array();
  for (const std::string& word : *argv) list.as_array()->push_back(base::Value::string(word));
  return json::encode(list);
}

// TOOL-8: only one simple command counts as an argument vector.
TEST(ShellCommand, corpus_has_the_expected_verdicts) {
  ASSERT_GE(read_corpus().size(), 300U);
  for (const ShellCase& each : read_corpus()) {
    EXPECT_EQ(show(parse_simple_command(each.text)), show(each.argv)) << base::visible(each.text);
  }
}

constexpr auto shells = std::to_array<std::string_view>({"/bin/sh", "/bin/dash", "/bin/bash", "/bin/zsh"});

// What a shell makes of the accepted texts, with `set --` in front instead of running them. It reads no start-up files,
// and works in a folder with files that wildcards would match.
std::vector<std::string> split_by(std::string_view shell, const std::vector<ShellCase>& cases) {
  std::string script;
  std::size_t count = 0;
  for (const ShellCase& each : cases) {
    if (!each.argv) continue;
    script += fmt::format("set -- {}; printf '%s\\0' \"$@\"; printf '\\n\\0'\n", each.text);
    ++count;
  }
  const testing::ScratchFolder folder;
  const auto file = folder.write("texts.sh", script);
  for (const char* name : {"a", "b", "ls", "x=y"}) folder.write(name, "");
  std::vector<std::string> words = {std::string(shell), file.string()};
  if (shell.ends_with("zsh")) words.insert(words.begin() + 1, "-f");
  const testing::Outcome outcome = testing::run_program({.argv = words, .folder = folder.path()});
  EXPECT_EQ(outcome.code, 0) << shell << outcome.err;
  std::vector<std::string> found;
  base::Value argv = base::Value::array();
  for (const std::string_view word : base::split(outcome.out, '\0')) {
    if (word != "\n") {
      argv.as_array()->push_back(base::Value::string(word));
      continue;
    }
    found.push_back(json::encode(argv));
    argv = base::Value::array();
  }
  EXPECT_EQ(found.size(), count) << shell;
  return found;
}

void expect_agreement(const std::vector<ShellCase>& cases) {
  for (const std::string_view shell : shells) {
    const std::vector<std::string> found = split_by(shell, cases);
    std::size_t next = 0;
    for (const ShellCase& each : cases) {
      if (!each.argv || next == found.size()) continue;
      EXPECT_EQ(found[next++], show(each.argv)) << shell << ": " << each.text;
    }
  }
}

TEST(ShellCommand, real_shells_agree) { expect_agreement(read_corpus()); }

// TOOL-8: texts that nobody thought of, from what shells treat specially. Whatever is accepted is one command with
// these words in every shell.
TEST(ShellCommand, real_shells_agree_on_random_texts) {
  constexpr auto pieces = std::to_array<std::string_view>(
      {" ",     " ",       " ",      "a",        "b",     "ls",  "-n", "/",  "x=y",  "=",     "=",  "=ls",   "%",
       "%1",    ":",       "@",      "+",        ",",     ".",   "..", "''", "\"\"", "'",     "\"", "'*'",   "\"?\"",
       "'[a]'", "'$HOME'", "'`id`'", "\"it's\"", "'=ls'", "'#'", "*",  "?",  "[ab]", "{a,b}", "~",  "$HOME", "\\",
       "#",     "!",       "^",      ";",        "&",     "<",   ">",  "(",  ")",    "\t",    "é"});
  constexpr std::size_t enough = 2'000;
  std::mt19937 random(19);
  std::vector<ShellCase> accepted;
  for (int i = 0; i < 200'000 && accepted.size() < enough; ++i) {
    std::string text = "git ";
    for (std::size_t left = 1 + random() % 8; left > 0; --left) text += pieces.at(random() % pieces.size());
    if (auto argv = parse_simple_command(text)) accepted.push_back({.text = text, .argv = std::move(argv)});
  }
  ASSERT_EQ(accepted.size(), enough);
  expect_agreement(accepted);
}

TEST(ShellCommand, text_and_words_are_bounded) {
  EXPECT_TRUE(parse_simple_command("ls " + std::string(max_shell_text - 3, 'a')));
  EXPECT_FALSE(parse_simple_command("ls " + std::string(max_shell_text - 2, 'a')));
  std::string words = "ls";
  for (std::size_t i = 1; i < max_shell_words; ++i) words += " a";
  EXPECT_TRUE(parse_simple_command(words));
  EXPECT_FALSE(parse_simple_command(words + " a"));
}

// TOOL-8: no operator, expansion or glob in any place of a simple command leaves it simple.
RC_GTEST_PROP(ShellCommand, an_active_character_makes_any_text_not_simple, ()) {
  const std::string active = ";&|<>(){}$`~*?[]#!^\\\n\r\t";
  const std::string text = "git log -n 5 src/a.c";
  std::string changed = text;
  changed.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), 1, *rc::gen::elementOf(active));
  RC_ASSERT(!parse_simple_command(changed));
}

RC_GTEST_PROP(ShellCommand, quoted_again_it_means_the_same, ()) {
  const std::string letters = "ab \"'$`\\;|&<>(){}[]~*?#!=%-\n\u00fc";
  std::vector<std::string> argv = {"git"};
  const auto more =
      *rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::elementOf(letters)));
  argv.insert(argv.end(), more.begin(), more.end());
  if (const auto text = format_simple_command(argv)) RC_ASSERT(parse_simple_command(*text) == argv);
}

}  // namespace
}  // namespace reeve::engine
