#include "runtime/output/tool_line_selection.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

const base::WallTime start(std::chrono::hours(24));

std::shared_ptr<const LinePattern> pattern(std::string_view text) {
  auto made = LinePattern::make(text);
  return made ? std::make_shared<const LinePattern>(std::move(*made)) : nullptr;
}

void add(LineSelection& selection, int seconds, const std::string& text) {
  selection.add(start + std::chrono::seconds(seconds), text + "\n", "<" + text + ">");
}

TEST(LinePattern, matches_anywhere_and_refuses_what_it_cannot_match_in_bounds) {
  ASSERT_NE(pattern("err.*[0-9]$"), nullptr);
  EXPECT_TRUE(pattern("err.*[0-9]$")->match("an error 17"));
  EXPECT_FALSE(pattern("err.*[0-9]$")->match("an error"));
  EXPECT_EQ(pattern("(unclosed"), nullptr);
  // No back references: they cannot be matched in linear time.
  EXPECT_EQ(pattern("(a)\\1"), nullptr);
  EXPECT_EQ(pattern("((a{100}){100}){100}"), nullptr);
  EXPECT_EQ(pattern(std::string(1'025, 'a')), nullptr);
}

TEST(LinePattern, a_pattern_that_others_match_in_exponential_time_is_matched_at_once) {
  const auto hostile = pattern("(a*)*b");
  ASSERT_NE(hostile, nullptr);
  EXPECT_FALSE(hostile->match(std::string(1'000'000, 'a')));
}

TEST(LineSelection, passes_on_lines_that_match_and_are_new_enough) {
  LineSelection selection({.grep = pattern("b"), .since = start + std::chrono::seconds(2)});
  add(selection, 1, "abc");
  add(selection, 2, "abc2");
  add(selection, 3, "xyz");
  add(selection, 4, "b");
  EXPECT_EQ(selection.take(), "<abc2>\n<b>\n");
  EXPECT_EQ(selection.take(), "");
}

TEST(LineSelection, tail_counts_lines_that_match_and_then_follows) {
  LineSelection selection({.grep = pattern("b"), .tail = 2});
  for (const char* text : {"b1", "x", "b2", "b3", "x"}) add(selection, 1, text);
  EXPECT_EQ(selection.take(), "");
  selection.reach_end();
  EXPECT_EQ(selection.take(), "<b2>\n<b3>\n");
  add(selection, 2, "b4");
  selection.reach_end();
  EXPECT_EQ(selection.take(), "<b4>\n");
}

TEST(LineSelection, what_tail_keeps_is_bounded) {
  LineSelection selection({.tail = LineSelection::max_tail});
  const std::string large(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 100; ++i) add(selection, 1, large);
  selection.reach_end();
  EXPECT_LE(selection.pending(), LineSelection::max_kept_bytes);
  EXPECT_GT(selection.pending(), LineSelection::max_kept_bytes / 2);
}

}  // namespace
}  // namespace reeve::runtime
