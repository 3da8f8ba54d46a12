#include "runtime/runs/run_terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/decision.h"

// RUN-10: a prompt on the terminal of a run, and its answer.
namespace reeve::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

base::SecretSet secrets(const std::vector<std::string>& values = {}) {
  base::SecretSet set;
  for (const std::string& value : values) set.add(value);
  set.prepare();
  return set;
}

model::Approval approved(model::Approval approval, const std::string& value) {
  approval.status = model::ApprovalStatus::approved;
  approval.chosen_value = value;
  return approval;
}

TEST(RunTerminal, prompt_is_read_at_the_present_size) {
  RunTerminal terminal(24, 80);
  // Absolute positions: what they mean depends on the size.
  std::string output = "\x1b[2J";
  for (int row = 1; row <= 30; ++row) output += "\x1b[" + std::to_string(row) + ";1Hrow " + std::to_string(row);
  output += "\x1b[31;1HGo on? [y/N] ";
  terminal.set_size(40, 100);
  EXPECT_TRUE(terminal.read_prompt(output, false, secrets()));
  const auto asked = terminal.make_question("tool", false, secrets());
  EXPECT_EQ(asked.approval.question, "Go on? [y/N]");
  EXPECT_THAT(*asked.approval.context, HasSubstr("row 1\nrow 2\n"));
  EXPECT_THAT(*asked.approval.context, HasSubstr("row 30\nGo on? [y/N]"));
}

// LOG-4
TEST(RunTerminal, question_and_context_have_no_secrets) {
  RunTerminal terminal(24, 20);
  const base::SecretSet hidden = secrets({"tok-1234567890-abcdefghij"});
  EXPECT_TRUE(
      terminal.read_prompt("use tok-1234567890-abcdefghij\r\nUse tok-1234567890-abcdefghij? [y/N] ", false, hidden));
  const auto asked = terminal.make_question("tool", false, hidden);
  EXPECT_THAT(asked.approval.question, Not(HasSubstr("1234567890")));
  EXPECT_THAT(*asked.approval.context, Not(HasSubstr("1234567890")));
  EXPECT_THAT(asked.dialog, Not(HasSubstr("1234567890")));
}

// APR-7: each decision is typed once.
TEST(RunTerminal, decision_is_typed_once) {
  RunTerminal terminal(24, 80);
  terminal.read_prompt("Go on? [y/N] ", false, secrets());
  const model::Approval asked = terminal.make_question("tool", false, secrets()).approval;
  EXPECT_FALSE(terminal.make_answer(base::ApprovalId(3), 7)) << "nothing was decided";
  terminal.expect(approved(asked, "y"));
  const auto answer = terminal.make_answer(base::ApprovalId(3), 7);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 3U);
  EXPECT_EQ(answer->serial, 7U);
  EXPECT_EQ(answer->bytes, "y\r");
  EXPECT_FALSE(terminal.make_answer(base::ApprovalId(3), 8));
  EXPECT_EQ(terminal.last_answer().bytes, "y\r") << "to be sent again until it is confirmed";
}

TEST(RunTerminal, secret_is_forgotten_once_it_is_typed) {
  RunTerminal terminal(24, 80);
  terminal.read_prompt("Password: ", true, secrets());
  const model::Approval asked = terminal.make_question("tool", true, secrets()).approval;
  terminal.expect(approved(asked, "secret"), "hunter2");
  ASSERT_TRUE(terminal.make_answer(base::ApprovalId(3), 7));
  terminal.expect(approved(asked, "secret"));
  EXPECT_FALSE(terminal.make_answer(base::ApprovalId(3), 8));
}

TEST(RunTerminal, fixed_answer_is_one_line) {
  RunTerminal terminal(24, 80);
  EXPECT_EQ(terminal.make_fixed_answer("yes\nrm -rf ~", 7).bytes.find('\n'), std::string::npos);
  EXPECT_EQ(terminal.last_answer().serial, 7U);
  EXPECT_TRUE(terminal.last_answer().bytes.ends_with("\r"));
}

}  // namespace
}  // namespace reeve::runtime
