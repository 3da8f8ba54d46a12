#include "runtime/runs/terminal_answer.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "engine/decision.h"

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

model::Approval answered(model::Approval approval, std::string text) {
  approval.status = ApprovalStatus::approved;
  approval.chosen_value = model::text_option;
  approval.answer = std::move(text);
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

// RUN-10: the choices on screen are the options, and their value is typed.
TEST(TerminalAnswer, types_the_value_of_the_chosen_option) {
  const model::Approval asked = choices();
  EXPECT_EQ(asked.delivery, model::Delivery::terminal);
  EXPECT_EQ(asked.question, "Continue? [Y/n]");
  EXPECT_EQ(asked.default_value, "y");
  ASSERT_EQ(asked.options.size(), 2U);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "y"), {}), "y\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::rejected, "n"), {}), "n\r")
      << "the screen has a choice that rejects";
}

// What `reeve reject` types at this screen ("^C" for an interrupt), and which options approve.
struct Refusal {
  std::string screen;
  std::string typed;
  std::string approving;
};

void expect_refusal(const Refusal& expected) {
  const model::Approval asked =
      make_terminal_question("tool", term::read_question(expected.screen, 24, 80, false), false);
  const auto answer =
      engine::decide(asked, {.word = engine::Answer::Word::reject, .choice = {}, .comment = {}, .decided_by = "ana"},
                     base::WallTime());
  const auto* chosen = std::get_if<engine::Decided>(&answer);
  ASSERT_NE(chosen, nullptr) << expected.screen;
  EXPECT_EQ(chosen->status, ApprovalStatus::rejected) << expected.screen;
  const std::string typed = make_keystrokes(decided(asked, chosen->status, chosen->chosen_value), {}).value_or("");
  EXPECT_EQ(typed == "\x03" ? "^C" : typed.substr(0, typed.find('\r')), expected.typed) << expected.screen;
  std::vector<std::string> approving;
  for (const model::ApprovalOption& option : asked.options) {
    if (model::approves(option)) approving.push_back(option.value);
  }
  EXPECT_EQ(base::join(approving, " "), expected.approving) << expected.screen;
}

// APR-3: a rejection never types anything that may act. Only a choice that plainly rejects is typed; otherwise Ctrl-C.
TEST(TerminalAnswer, rejection_types_only_a_refusing_option) {
  const std::vector<Refusal> cases = {
      {"1) Deploy to production\r\n2) Cancel\r\nWhat now? ", "2", "1"},
      // bash: select x in Deploy Cancel
      {"1) Deploy\r\n2) Cancel\r\n#? ", "2", "1"},
      {"1) Deploy  2) Cancel\r\n#? ", "2", "1"},
      // dpkg
      {"*** motd (Y/I/N/O/D/Z) [default=N] ? ", "N", "Y I O D Z"},
      {"(1/1) Stage this hunk [y,n,q,a,d,e,?]? ", "n", "y a d e"},
      {"It is there: [o]verwrite, [s]kip, [a]bort? ", "a", "o"},
      {"It is there: [o]verwrite, [s]kip? ", "s", "o"},
      {"[A]bort, [R]etry, [I]gnore? ", "a", "r i"},
      {"[r]un all or [s]kip tests? ", "^C", "r s"},
      {"[n]uke it, [o]pen it? ", "^C", "n o"},
      {"1) staging\r\n2) production\r\nWhere to? ", "^C", "1 2"},
      {"1) Cancel the contract\r\n2) Stop the database\r\n3) No-verify commit\r\n4) No downtime\r\nWhat? ", "^C",
       "1 2 3 4"},
      {"1) Deploy\r\n2) Don't ask again\r\nWhat? ", "^C", "1 2"},
      {"1) Deploy\r\n2) Don't deploy\r\nWhat? ", "2", "1"},
      {"1) Deploy\r\n2) Don\u2019t deploy\r\nWhat? ", "2", "1"},
      {"1) Deploy\r\n2) Do not deploy\r\nWhat? ", "2", "1"},
      {"1) Cancel (esc)\r\n2) No, keep it\r\n3) Remove it\r\nWhat? ", "2", "3"},
      // Agents
      {"Proceed?\r\n❯ 1. Yes\r\n  2. Yes, and don't ask again\r\n  3. No\r\n", "3", "1 2"},
      {"Proceed?\r\n❯ 1. Yes  2. Yes, and don't ask again  3. No\r\n", "3", "1 2"},
      {"Proceed?\r\n❯ 1. Yes\r\n  2. No, and tell Claude what to do differently (esc)\r\n", "2", "1"},
  };
  for (const Refusal& each : cases) expect_refusal(each);
}

// A rejection without a matching choice is Ctrl-C, never Enter.
TEST(TerminalAnswer, rejection_without_an_option_sends_ctrl_c) {
  EXPECT_EQ(make_keystrokes(decided(choices(), ApprovalStatus::rejected, {}), {}), "\x03");
  const model::Approval text = make_terminal_question("apt", {.question = "Name?"}, false);
  EXPECT_EQ(make_keystrokes(decided(text, ApprovalStatus::rejected, "reject", "bob"), {}), "\x03");
  const model::Approval secret = make_terminal_question("sudo", {.question = "Password:"}, true);
  EXPECT_EQ(make_keystrokes(decided(secret, ApprovalStatus::rejected, "reject"), "hunter2"), "\x03");
}

TEST(TerminalAnswer, types_free_text_when_no_options_were_read) {
  const model::Approval asked = make_terminal_question("apt", {}, false);
  EXPECT_EQ(asked.question, "apt is waiting for input at its terminal");
  EXPECT_FALSE(asked.secret);
  EXPECT_TRUE(model::takes_text(asked));
  EXPECT_EQ(make_keystrokes(answered(asked, "bob"), {}), "bob\r");
  EXPECT_EQ(make_keystrokes(answered(asked, ""), {}), "\r");
  EXPECT_FALSE(model::takes_text(choices()));
}

// RUN-10: neither a comment nor an empty line is typed by accident.
TEST(TerminalAnswer, types_nothing_without_a_text) {
  const model::Approval asked = make_terminal_question("apt", {}, false);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "answer"), {}), std::nullopt);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "answer", "a comment"), {}), std::nullopt);
  // Chosen in a question of an earlier version.
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "enter", "a comment"), {}), "\r");
}

// A secret comes only with the decision: text in the record is not typed.
TEST(TerminalAnswer, types_only_the_secret_sent_with_the_decision) {
  const model::Approval asked = make_terminal_question("sudo", {.question = "Password:"}, true);
  EXPECT_TRUE(asked.secret);
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "secret", "comment"), "hunter2"), "hunter2\r");
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "secret", "comment"), {}), std::nullopt)
      << "an empty password is not an answer";
  EXPECT_EQ(make_keystrokes(decided(asked, ApprovalStatus::approved, "secret"), "\n"), std::nullopt);
}

// Permission to answer one question does not allow other keystrokes.
TEST(TerminalAnswer, typed_text_is_one_line_without_controls) {
  const model::Approval asked = make_terminal_question("apt", {}, false);
  EXPECT_EQ(make_keystrokes(answered(asked, "a\nb\r\x1b[A\x03\x7f\tz\xc3\xa9"), {}), "ab[Az\xc3\xa9\r");
  EXPECT_EQ(one_line(std::string(9'000, 'x')).size(), 4'000U);
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace reeve::runtime
