#include "view/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace reeve::view {
namespace {

Table some_runs() {
  Table table({"ID", "STATUS", "TOOL", "COMMAND", "NOTE"});
  table.add(std::vector<Table::Cell>{
      {"TR-1"}, {"completed", Tint::green}, {"claude"}, {"claude -p 'write the changelog for 1.4'"}, {""}});
  table.add(std::vector<Table::Cell>{{"TR-12"}, {"failed"}, {"sh"}, {"sh -c 'exit 3'"}, {""}});
  return table;
}

std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  for (const std::string_view line : base::split(text, '\n')) columns = std::max(columns, base::display_width(line));
  return columns;
}

// UX: a row stays a row, whatever the width.
TEST(Table, never_exceeds_the_terminal_width) {
  const Table table = some_runs();
  for (std::size_t columns = 1; columns < 120; ++columns) {
    const std::string text = table.for_terminal({.columns = columns});
    EXPECT_LE(widest(text), columns) << text;
    EXPECT_EQ(base::split(text, '\n').size(), 4U) << text;
  }
}

TEST(Table, shortens_the_widest_column_and_omits_empty_ones) {
  EXPECT_EQ("\n" + some_runs().for_terminal({.columns = 50}), R"(
ID     STATUS     TOOL    COMMAND
TR-1   completed  claude  claude -p 'write the ch…
TR-12  failed     sh      sh -c 'exit 3'
)");
}

TEST(Table, without_a_width_nothing_is_cut) {
  EXPECT_THAT(some_runs().for_terminal({}), ::testing::HasSubstr("'write the changelog for 1.4'"));
}

TEST(Table, empty_table_has_headings) {
  EXPECT_EQ(Table({"ID", "STATUS"}).for_terminal({.columns = 40}), "ID  STATUS\n");
}

}  // namespace
}  // namespace reeve::view
