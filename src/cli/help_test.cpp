#include "cli/help.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/command.h"

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
      expect_fit(command_help(command, true, style), unbroken, columns);
    }
    expect_fit(overview("", style), {}, columns);
    expect_fit(overview("flow", style), {}, columns);
    expect_fit(welcome(true, style), {}, std::max<std::size_t>(columns, 80));
  }
}

TEST(Help, without_a_terminal_is_not_wrapped) {
  for (const Command& command : all_commands()) {
    const std::string text = command_help(command, true, {});
    EXPECT_NE(text.find(command.about), std::string::npos) << command.name;
  }
}

}  // namespace
}  // namespace reeve::cli
