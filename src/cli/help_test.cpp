#include "cli/help.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/man.h"

namespace reeve::cli {
namespace {

// Commands to copy are never broken; everything else fits.
void expect_fit(const std::string& text, const std::vector<std::string>& unbroken, std::size_t columns) {
  for (const std::string_view line : base::split(text, '\n')) {
    if (base::display_width(line) <= columns) continue;
    const bool is_command = std::ranges::find(unbroken, base::trim(line)) != unbroken.end();
    EXPECT_TRUE(is_command) << columns << " columns: " << line;
  }
}

TEST(Help, fits_the_terminal_without_broken_words) {
  for (const std::size_t columns : {60U, 80U, 120U}) {
    const view::Style style{.columns = columns};
    for (const Command& command : all_commands()) {
      std::vector<std::string> unbroken;
      for (const Example& example : command.examples) unbroken.emplace_back(example.line);
      for (const bool is_full : {false, true}) expect_fit(command_help(command, is_full, style), unbroken, columns);
    }
    std::vector<std::string> examples;
    for (const Command& command : all_commands()) examples.emplace_back(command.examples.front().line);
    for (const bool is_full : {false, true}) {
      expect_fit(overview("", is_full, style), {}, columns);
      expect_fit(overview("flow", is_full, style), examples, columns);
    }
    expect_fit(welcome(true, style), {}, std::max<std::size_t>(columns, 80));
  }
}

// UX: `-h` is short, examples first.
TEST(Help, short_help_fits_a_screen_and_begins_with_examples) {
  const view::Style style{.columns = 100};
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  for (const Command& command : all_commands()) {
    const std::string brief = command_help(command, false, style);
    const std::string full = command_help(command, true, style);
    EXPECT_LE(lines(brief), 40) << command.name;
    EXPECT_LT(lines(brief), lines(full)) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_LT(brief.find("Examples"), brief.find("Usage")) << command.name;
    for (const Option& option : command.options) EXPECT_NE(brief.find(option.name), std::string::npos) << command.name;
    EXPECT_EQ(brief.find("--token-file"), std::string::npos) << command.name;
  }
  const std::string all = overview("", false, style);
  EXPECT_LE(lines(all), 40);
  for (const Command& command : shown_commands()) {
    const std::string_view word = command.name.substr(command.name.find(' ') + 1);
    EXPECT_NE(all.find(word), std::string::npos) << command.name;
  }
}

TEST(Help, a_group_begins_with_examples) {
  for (const std::string_view group : {"flow", "patch", "token", "approvals", "pipeline", "config", "policy"}) {
    for (const bool is_full : {false, true}) {
      const std::string text = overview(group, is_full, {});
      EXPECT_TRUE(text.starts_with("Examples\n  reeve ")) << text;
      EXPECT_LT(text.find("Examples"), text.find("Commands")) << group;
    }
  }
}

// RUN-9: `--detach` hands over only what the daemon keeps.
TEST(Help, run_names_the_limit_of_detached_input) {
  const auto run = std::ranges::find(all_commands(), "run", &Command::name);
  ASSERT_NE(run, all_commands().end());
  EXPECT_TRUE(run->about.contains("more than 16 MiB is refused")) << run->about;
}

// SPEC §7: every command accepts `shop/TR-1` and `@TR-1`.
TEST(Help, words_that_name_a_record_are_ids) {
  int ids = 0;
  for (const Command& command : all_commands()) {
    for (const Positional& word : command.positionals) {
      if (word.name != "ID" && word.name != "EX" && word.name != "EXECUTION") continue;
      EXPECT_TRUE(word.is_id) << command.name << " " << word.name;
      ++ids;
    }
  }
  EXPECT_GE(ids, 20);
}

// Only the completion scripts call it.
TEST(Help, internal_commands_are_not_listed) {
  for (const std::string& text : {overview("", false, {}), overview("", true, {}), overview("completion", true, {})}) {
    EXPECT_FALSE(text.contains("completion ids") || text.contains("completion, ids")) << text;
  }
}

TEST(Help, without_a_terminal_is_not_wrapped) {
  for (const Command& command : all_commands()) {
    const std::string text = command_help(command, true, {});
    EXPECT_NE(text.find(command.about), std::string::npos) << command.name;
  }
}

TEST(ManPages, cover_every_command_and_file) {
  const std::vector<ManPage> pages = make_man_pages();
  EXPECT_EQ(pages.size(), shown_commands().size() + 3);
  for (const Command& command : shown_commands()) {
    std::string name(command.name);
    std::ranges::replace(name, ' ', '-');
    const auto page = std::ranges::find(pages, "man1/reeve-" + name + ".1", &ManPage::file);
    ASSERT_NE(page, pages.end()) << command.name;
    for (const Option& option : command.options) {
      std::string escaped;
      for (const char c : option.name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_NE(page->text.find(escaped), std::string::npos) << command.name << " " << option.name;
    }
  }
}

// SPEC §7.
TEST(ManPages, name_every_exit_code) {
  const std::vector<ManPage> pages = make_man_pages();
  for (const std::string_view code : {"90", "124", "126", "127", "128 + N", "130", "141"}) {
    EXPECT_TRUE(pages.front().text.contains(fmt::format("\\fB{}\\fR", code))) << code;
  }
}

}  // namespace
}  // namespace reeve::cli
