#include "cli/live/answer_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

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
  approval.risk = model::Risk::low;
  approval.options = {{.value = "staging", .label = "Only staging"}, {.value = "reject", .label = "No"}};
  return approval;
}

// UX: a key pressed before a question was on screen for half a second decides nothing.
TEST(AnswerLine, early_keys_do_not_answer) {
  AnswerLine line;
  line.ask(question(1), start);
  EXPECT_FALSE(line.press("1\r", start + std::chrono::milliseconds(499)).answer);
  EXPECT_FALSE(line.press("\r", later).answer);
  const auto pressed = line.press("1\r", later);
  ASSERT_TRUE(pressed.answer);
  EXPECT_EQ(pressed.answer->approval, question(1));
  EXPECT_EQ(pressed.answer->verdict.choice, "staging");
  EXPECT_EQ(pressed.answer->verdict.word, Verdict::Word::approve);
}

TEST(AnswerLine, new_question_discards_typed_input) {
  AnswerLine line;
  line.ask(question(1), start);
  line.press("1", later);
  line.ask(question(2), later);
  EXPECT_FALSE(line.press("\r", later + std::chrono::seconds(1)).answer);
  line.ask(std::nullopt, later);
  EXPECT_THAT(line.lines({}, 80), IsEmpty());
  EXPECT_FALSE(line.press("1\r", later + std::chrono::seconds(1)).answer);
}

TEST(AnswerLine, text_after_the_number_is_the_comment) {
  AnswerLine line;
  line.ask(question(1), start);
  const auto pressed = line.press("2  not \xC3\xBCx\x7F today \r", later);
  ASSERT_TRUE(pressed.answer);
  EXPECT_EQ(pressed.answer->verdict.word, Verdict::Word::reject);
  EXPECT_EQ(pressed.answer->verdict.choice, "reject");
  EXPECT_EQ(pressed.answer->verdict.comment, "not \xC3\xBC today");
  EXPECT_EQ(line.press("staging\r", later).answer->verdict.comment, std::nullopt);
}

// RUN-10: the text for the tool is never kept as a comment, and an empty line is not an answer.
TEST(AnswerLine, text_after_the_number_is_typed_if_the_question_takes_text) {
  model::Approval asked = question(1);
  asked.delivery = model::Delivery::terminal;
  asked.arguments = base::Value::object();
  asked.arguments->set("prompt", base::Value::string("text"));
  asked.options = {{.value = "answer", .label = "Answer with text…", .approves = true},
                   {.value = "reject", .label = "Cancel the tool", .approves = false}};
  AnswerLine line;
  line.ask(asked, start);
  EXPECT_THAT(line.lines({}, 80).at(3), HasSubstr("number, the text to type, Enter"));
  EXPECT_FALSE(line.press("1\r", later).answer);
  EXPECT_THAT(line.lines({}, 80).at(3), HasSubstr("the text to type follows: 1 TEXT"));
  const auto pressed = line.press("1 feature/login\r", later);
  ASSERT_TRUE(pressed.answer);
  EXPECT_EQ(pressed.answer->verdict.answer, "feature/login");
  EXPECT_EQ(pressed.answer->verdict.comment, std::nullopt);
  const auto refused = line.press("2 not now\r", later);
  ASSERT_TRUE(refused.answer);
  EXPECT_EQ(refused.answer->verdict.answer, std::nullopt);
  EXPECT_EQ(refused.answer->verdict.comment, "not now");
}

// UX, APR-3: the confirmation depends on the risk; no other line than the confirmation decides.
TEST(AnswerLine, medium_risk_asks_yes_or_no) {
  model::Approval asked = question(3);
  asked.risk = model::Risk::medium;
  asked.risk_reasons = {"changes 17 files"};
  AnswerLine line;
  line.ask(asked, start);
  for (const char* no : {"\r", "n\r", "1\r", "yess\r", "AP-3\r"}) {
    EXPECT_FALSE(line.press("1\r", later).answer);
    EXPECT_THAT(line.lines({}, 80).at(3),
                HasSubstr("  Approve AP-3 with staging? [y/N]  medium risk: changes 17 files"));
    EXPECT_FALSE(line.press(no, later).answer) << no;
    EXPECT_THAT(line.lines({}, 80).at(3), HasSubstr("not confirmed"));
    EXPECT_FALSE(line.press("y\r", later).answer) << "there is nothing to confirm";
  }
  EXPECT_FALSE(line.press("1 with care\r", later).answer);
  const auto confirmed = line.press("Y\r", later);
  ASSERT_TRUE(confirmed.answer);
  EXPECT_EQ(confirmed.answer->approval, asked) << "as it was shown";
  EXPECT_EQ(confirmed.answer->verdict.choice, "staging");
  EXPECT_EQ(confirmed.answer->verdict.comment, "with care");
  EXPECT_TRUE(line.press("2\r", later).answer) << "a rejection needs no confirmation";
}

TEST(AnswerLine, confirmation_reads_like_a_question) {
  model::Approval asked = question(3);
  asked.risk = model::Risk::medium;
  asked.options = {{.value = "approve", .label = "Approve"}, {.value = "reject", .label = "Reject"}};
  AnswerLine line;
  line.ask(asked, start);
  EXPECT_FALSE(line.press("1\r", later).answer);
  bool is_asked = false;
  for (const std::string& shown : line.lines({}, 80)) is_asked = is_asked || shown.starts_with("  Approve AP-3? [y/N]");
  EXPECT_TRUE(is_asked);
}

TEST(AnswerLine, high_risk_asks_for_the_id) {
  model::Approval asked = question(3);
  asked.risk = model::Risk::high;
  AnswerLine line;
  line.ask(asked, start);
  for (const char* no : {"y\r", "AP-4\r", "3\r", "\r"}) {
    EXPECT_FALSE(line.press("1\r", later).answer);
    EXPECT_THAT(line.lines({}, 60).at(3), HasSubstr("Type AP-3 to confirm"));
    EXPECT_FALSE(line.press(no, later).answer) << no;
  }
  EXPECT_FALSE(line.press("1\r", later).answer);
  EXPECT_TRUE(line.press("ap-3\r", later).answer);
}

// Keys that were typed ahead confirm nothing: the confirmation was not on screen.
TEST(AnswerLine, confirmation_is_not_taken_from_the_same_keys_or_for_another_question) {
  model::Approval asked = question(3);
  asked.risk = model::Risk::medium;
  AnswerLine line;
  line.ask(asked, start);
  EXPECT_FALSE(line.press("1\ry\r", later).answer);
  asked.approval_id = base::ApprovalId(4);
  line.ask(asked, later);
  EXPECT_FALSE(line.press("y\r", later + std::chrono::seconds(1)).answer);
}

TEST(AnswerLine, unknown_option_is_reported_and_escape_keys_are_ignored) {
  AnswerLine line;
  line.ask(question(1), start);
  EXPECT_FALSE(line.press("3\r", later).answer);
  EXPECT_THAT(line.lines({}, 80).at(3), HasSubstr("`3` is not one of the options"));
  line.press("\x1b[A", later);
  EXPECT_EQ(line.lines({}, 80).back(), "> ");
  EXPECT_TRUE(line.press("1\x03", later).leaves);
}

// UX: none of what can be chosen is out of sight, and a no is known as one.
TEST(AnswerLine, long_options_get_one_line_each) {
  model::Approval long_one = question(19);
  long_one.options = {{.value = "all", .label = "Roll it out to every region tonight"},
                      {.value = "one", .label = "Roll it out to one region first"},
                      {.value = "dry", .label = "Only show what would be done"},
                      {.value = "later", .label = "Not before the freeze is over", .approves = false}};
  AnswerLine line;
  line.ask(long_one, start);
  const auto lines = line.lines({}, 80);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[2], "  1  all    Roll it out to every region tonight");
  EXPECT_EQ(lines[5], "  4  later  Not before the freeze is over  (rejects)");
  EXPECT_THAT(line.lines({}, 40).at(5), ::testing::EndsWith("(rejects)"));
  EXPECT_EQ(line.lines({}, 40).at(6), "  full text: reeve show AP-19");
}

TEST(AnswerLine, long_question_is_cut_to_three_lines_with_a_hint) {
  model::Approval long_one = question(19);
  for (int i = 0; i < 40; ++i) long_one.question += " Is the migration safe?";
  long_one.arguments = base::Value::object();
  long_one.arguments->set("description", base::Value::string("Look at the plan.\nThen at the cost."));
  AnswerLine line;
  line.ask(long_one, start);
  const auto lines = line.lines({}, 80);
  ASSERT_EQ(lines.size(), 8U);
  for (const std::string& text : lines) EXPECT_LT(base::display_width(text), 80U) << text;
  EXPECT_THAT(lines[3], HasSubstr("Is the"));
  EXPECT_EQ(lines[4], "  Look at the plan. Then at the cost.");
  EXPECT_THAT(lines[6], HasSubstr("full text: reeve show AP-19"));
  // A low window has room for what can be chosen.
  EXPECT_EQ(line.lines({}, 80, 5).size(), 5U);
  EXPECT_THAT(line.lines({}, 80, 5).at(2), HasSubstr("1 Only staging"));
}

// LOG-3: what a tool asks cannot write on the person's terminal.
TEST(AnswerLine, question_text_cannot_control_the_terminal) {
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
