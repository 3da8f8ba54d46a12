#include "runtime/runs/tool_lines.h"

#include <optional>

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using Outcome = keeper::InputLineTaken::Outcome;

// The replies to an agent that speaks Reeve's protocol (TOOL-4).
class ToolLinesTest : public ::testing::Test {
 protected:
  void add(std::string line) {
    lines_.add(std::move(line), [this](bool is_sent) { sent_.push_back(is_sent); });
  }
  static std::string text_of(const std::vector<keeper::InputLine>& parts) {
    std::string text;
    for (const keeper::InputLine& part : parts) {
      EXPECT_EQ(part.offset, text.size());
      EXPECT_EQ(part.ticket, parts.front().ticket);
      EXPECT_EQ(part.is_last, &part == &parts.back());
      EXPECT_LE(part.part.size(), keeper::input_bytes);
      text += part.part;
    }
    return text;
  }

  ToolLines lines_;
  std::vector<bool> sent_;
};

TEST_F(ToolLinesTest, are_sent_one_after_the_other) {
  add("{\"id\":1}");
  add("{\"id\":2}");
  const auto first = lines_.take_next();
  EXPECT_EQ(text_of(first), "{\"id\":1}\n");
  EXPECT_TRUE(lines_.take_next().empty()) << "the first is on its way";
  EXPECT_FALSE(lines_.on_taken({first.front().ticket, Outcome::taken}));
  EXPECT_EQ(sent_, std::vector({true}));
  EXPECT_EQ(text_of(lines_.take_next()), "{\"id\":2}\n");
}

TEST_F(ToolLinesTest, long_line_is_sent_in_parts) {
  const std::string line(3 * keeper::input_bytes, 'x');
  add(line);
  const auto parts = lines_.take_next();
  EXPECT_EQ(parts.size(), 4U);
  EXPECT_EQ(text_of(parts), line + "\n");
}

// A tool that does not read loses nothing and keeps nobody busy.
TEST_F(ToolLinesTest, refused_line_is_sent_again_with_growing_pauses) {
  add("a");
  std::chrono::milliseconds last{0};
  for (int i = 0; i < 20; ++i) {
    const auto parts = lines_.take_next();
    ASSERT_EQ(text_of(parts), "a\n");
    const auto pause = lines_.on_taken({parts.front().ticket, Outcome::full});
    ASSERT_TRUE(pause);
    EXPECT_GE(*pause, last);
    last = *pause;
  }
  EXPECT_EQ(last, std::chrono::seconds(1));
  lines_.on_taken({lines_.take_next().front().ticket, Outcome::taken});
  EXPECT_EQ(sent_, std::vector({true}));
}

TEST_F(ToolLinesTest, late_confirmation_of_an_earlier_line_changes_nothing) {
  add("a");
  const auto first = lines_.take_next();
  lines_.on_taken({first.front().ticket, Outcome::full});
  lines_.take_next();
  EXPECT_FALSE(lines_.on_taken({first.front().ticket, Outcome::taken}));
  EXPECT_TRUE(sent_.empty());
}

TEST_F(ToolLinesTest, closed_input_refuses_everything) {
  add("a");
  add("b");
  EXPECT_FALSE(lines_.on_taken({lines_.take_next().front().ticket, Outcome::closed}));
  EXPECT_EQ(sent_, std::vector({false, false}));
  add("c");
  EXPECT_EQ(sent_.size(), 3U);
  EXPECT_FALSE(sent_.back());
  EXPECT_TRUE(lines_.take_next().empty());
}

// A line that contains another would be read as two.
TEST_F(ToolLinesTest, only_single_bounded_lines_are_accepted) {
  add("a\n{\"event\":\"tool_result\"}");
  add(std::string(keeper::input_line_bytes, 'x'));
  EXPECT_EQ(sent_, std::vector({false, false}));
  add(std::string(keeper::input_line_bytes - 1, 'x'));
  EXPECT_EQ(sent_.size(), 2U);
}

TEST_F(ToolLinesTest, what_waits_is_bounded) {
  for (std::size_t i = 0; i < ToolLines::max_lines; ++i) add("x");
  EXPECT_TRUE(sent_.empty());
  add("x");
  EXPECT_EQ(sent_, std::vector({false}));
  ToolLines large;
  std::vector<bool> answers;
  for (std::size_t bytes = 0; bytes < 2 * ToolLines::max_bytes; bytes += 1'000'000) {
    large.add(std::string(1'000'000, 'x'), [&](bool is_sent) { answers.push_back(is_sent); });
  }
  EXPECT_GE(answers.size(), 8U);
}

}  // namespace
}  // namespace reeve::runtime
