#include "cli/answer_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

using client::Verdict;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr base::BootTime start{std::chrono::seconds(100)};
constexpr base::BootTime later = start + std::chrono::milliseconds(500);

model::Approval question(std::int64_t number) {
  model::Approval approval;
  approval.approval_id = base::ApprovalId(number);
  approval.question = "Ship it?";
  approval.options = {{.value = "staging", .label = "Only staging"}, {.value = "reject", .label = "No"}};
  return approval;
}

// UX: a key pressed before a question was on screen for half a second decides nothing.
TEST(AnswerLine, keys_pressed_before_the_question_could_be_read_answer_nothing) {
  AnswerLine line;
  line.ask(question(1), start);
  EXPECT_FALSE(line.press("1\r", start + std::chrono::milliseconds(499)).answer);
  EXPECT_FALSE(line.press("\r", later).answer);
  const auto pressed = line.press("1\r", later);
  ASSERT_TRUE(pressed.answer);
  EXPECT_EQ(pressed.answer->approval, base::ApprovalId(1));
  EXPECT_EQ(pressed.answer->verdict.choice, "staging");
  EXPECT_EQ(pressed.answer->verdict.word, Verdict::Word::approve);
}

TEST(AnswerLine, another_question_drops_what_was_typed) {
  AnswerLine line;
  line.ask(question(1), start);
  line.press("1", later);
  line.ask(question(2), later);
  EXPECT_FALSE(line.press("\r", later + std::chrono::seconds(1)).answer);
  line.ask(std::nullopt, later);
  EXPECT_THAT(line.lines({}, 80), IsEmpty());
  EXPECT_FALSE(line.press("1\r", later + std::chrono::seconds(1)).answer);
}

TEST(AnswerLine, words_after_the_number_are_the_comment) {
  AnswerLine line;
  line.ask(question(1), start);
  const auto pressed = line.press("2  not \xC3\xBCx\x7F today \r", later);
  ASSERT_TRUE(pressed.answer);
  EXPECT_EQ(pressed.answer->verdict.word, Verdict::Word::reject);
  EXPECT_EQ(pressed.answer->verdict.choice, "reject");
  EXPECT_EQ(pressed.answer->verdict.comment, "not \xC3\xBC today");
  EXPECT_EQ(line.press("staging\r", later).answer->verdict.comment, std::nullopt);
}

TEST(AnswerLine, what_is_no_option_is_told_and_keys_with_many_bytes_are_not_typed) {
  AnswerLine line;
  line.ask(question(1), start);
  EXPECT_FALSE(line.press("3\r", later).answer);
  EXPECT_THAT(line.lines({}, 80).at(3), HasSubstr("`3` is none of them"));
  line.press("\x1b[A", later);
  EXPECT_EQ(line.lines({}, 80).back(), "> ");
  EXPECT_TRUE(line.press("1\x03", later).leaves);
}

// LOG-3: what a tool asks cannot write on the person's terminal.
TEST(AnswerLine, a_question_is_harmless) {
  model::Approval evil = question(1);
  evil.question = "really?\x1b[2J\x1b]0;x\x07";
  evil.options[0].label = "yes\x1b[31m";
  AnswerLine line;
  line.ask(evil, start);
  line.press("\xc2\x9b", later);
  for (const std::string& text : line.lines({}, 40)) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace reeve::cli
