#include "runtime/terminal_answer.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using model::ApprovalStatus;

model::Approval decided(model::Approval approval, ApprovalStatus status, std::optional<std::string> value,
                        std::optional<std::string> comment = {}) {
  approval.status = status;
  approval.chosen_value = std::move(value);
  approval.comment = std::move(comment);
  return approval;
}

model::Approval choices() {
  return make_terminal_question(
      "apt",
      {.question = "Continue? [Y/n]",
       .choices = {{.value = "y", .label = "yes", .approves = true}, {.value = "n", .label = "no", .approves = false}},
       .default_value = "y"},
      false);
}

// RUN-10: what the screen offers are the options, and what is typed is their value.
TEST(TerminalAnswer, types_the_choice_that_was_read) {
  const model::Approval asked = choices();
  EXPECT_EQ(asked.delivery, model::Delivery::terminal);
  EXPECT_EQ(asked.question, "Continue? [Y/n]");
  EXPECT_EQ(asked.default_value, "y");
  ASSERT_EQ(asked.options.size(), 2U);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "y"), {}), "y\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::rejected, "n"), {}), "n\r")
      << "the screen has a word for no";
}

// A no that the screen has no word for is Ctrl-C, and never Enter.
TEST(TerminalAnswer, interrupts_where_no_has_no_word) {
  EXPECT_EQ(make_keystrokes(decided(choices(), ApprovalStatus::rejected, {}), {}), "\x03");
  const model::Approval text = make_terminal_question("apt", {.question = "Name?"}, false);
  EXPECT_EQ(make_keystrokes(decided(text, ApprovalStatus::rejected, "reject", "bob"), {}), "\x03");
  const model::Approval secret = make_terminal_question("sudo", {.question = "Password:"}, true);
  EXPECT_EQ(make_keystrokes(decided(secret, ApprovalStatus::rejected, "reject"), "hunter2"), "\x03");
}

TEST(TerminalAnswer, types_any_text_where_nothing_could_be_read) {
  const model::Approval asked = make_terminal_question("apt", {}, false);
  EXPECT_EQ(asked.question, "apt waits at its terminal");
  EXPECT_FALSE(asked.secret);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "answer", "bob"), {}), "bob\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "answer"), {}), "\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "enter", "not this"), {}), "\r");
}

// A secret comes with the decision alone: what stands in the record is not typed.
TEST(TerminalAnswer, types_the_secret_that_was_given) {
  const model::Approval asked = make_terminal_question("sudo", {.question = "Password:"}, true);
  EXPECT_TRUE(asked.secret);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "secret", "comment"), "hunter2"), "hunter2\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "secret", "comment"), {}), "\r");
}

// Whoever may answer one question may not press other keys.
TEST(TerminalAnswer, is_one_line_without_control_characters) {
  const model::Approval asked = make_terminal_question("apt", {}, false);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "answer", "a\nb\r\x1b[A\x03\x7f\tz\xc3\xa9"), {}),
            "ab[Az\xc3\xa9\r");
  EXPECT_EQ(one_line(std::string(9'000, 'x')).size(), 4'000U);
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace reeve::runtime
