#include "keeper/holder.h"

#include <gtest/gtest.h>

#include "tests/support/keeper/kept_run.h"

// A keeper as a daemon meets it: what it tells of prompts, and what it types (RUN-10).
namespace reeve::keeper {
namespace {

using testing::KeptRun;
using testing::User;

KeptRun::Argv bash(const std::string& script) { return {"/bin/bash", "-c", script}; }

TEST(Holder, tells_of_a_prompt_and_types_the_answer_once) {
  KeptRun run(bash("read -p 'Go? ' a; read -p 'Sure? ' b; read -p 'Really? ' c; echo got=$a,$b,$c"), {});
  const auto first = run.wait_for_prompt();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->serial, 1U);
  EXPECT_EQ(first->certainty, Prompt::Certainty::certain);
  EXPECT_GT(first->position, 0U);
  EXPECT_EQ(run.answer(1, 2, "wrong\r"), false) << "there is no such prompt";
  EXPECT_EQ(run.answer(1, 1, "y\r"), true);
  EXPECT_TRUE(run.wait_for_over(1));
  EXPECT_EQ(run.answer(1, 1, "y\r"), true) << "asked again by one who did not hear";
  EXPECT_EQ(run.answer(2, 1, "late\r"), false) << "that prompt is over";
  const auto second = run.wait_for_prompt();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->serial, 2U);
  EXPECT_EQ(run.answer(1, 2, "old\r"), true) << "typed already, and not again";
  EXPECT_EQ(run.answer(7, 2, "n\r"), true);
  const auto third = run.wait_for_prompt();
  ASSERT_TRUE(third);
  EXPECT_EQ(run.answer(6, 3, "old\r"), false) << "less than the last number";
  EXPECT_EQ(run.answer(8, 3, "z\r"), true);
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  EXPECT_NE(run.output().find("got=y,n,z"), std::string::npos) << run.output();
}

TEST(Holder, tells_the_next_daemon_of_a_prompt_that_stands) {
  KeptRun run(bash("read -s -p 'Password: ' a; echo; echo got=$a; sleep 60"), {});
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt);
  EXPECT_TRUE(prompt->is_secret);
  EXPECT_EQ(run.answer(5, 1, ""), false) << "nothing to be typed";
  ASSERT_TRUE(run.reconnect());
  ASSERT_TRUE(run.wait_for_prompt());
  EXPECT_EQ(run.answer(5, 1, "secret\r"), true);
  ASSERT_TRUE(run.wait_for_output("got=secret"));
  EXPECT_EQ(run.output().find("Password: secret"), std::string::npos) << "not echoed";
}

TEST(Holder, tells_the_next_daemon_the_same_serial) {
  KeptRun run(bash("read -p 'Go? ' a; echo got=$a"), {});
  ASSERT_TRUE(run.wait_for_prompt());
  ASSERT_TRUE(run.reconnect());
  const auto again = run.wait_for_prompt();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->serial, 1U);
  EXPECT_EQ(run.answer(1, 1, "y\r"), true);
  EXPECT_TRUE(run.wait_for_over(1));
  EXPECT_TRUE(run.wait_for_output("got=y"));
}

TEST(Holder, a_prompt_is_over_when_somebody_types_or_the_tool_ends) {
  KeptRun run(bash("stty -echo; read a; read b"), {});
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt);
  run.send(Input{.ticket = 1, .bytes = "typed\r"});
  EXPECT_TRUE(run.wait_for_over(prompt->serial));
  EXPECT_EQ(run.answer(1, prompt->serial, "late\r"), false);
  const auto next = run.wait_for_prompt();
  ASSERT_TRUE(next);
  run.send(Stop{.grace_ms = 0});
  EXPECT_TRUE(run.wait_for_over(next->serial));
}

// In pipe mode the end is what it reads.
TEST(Holder, watches_no_pipe) {
  KeptRun run(bash("read a || echo nothing; sleep 1"), {.mode = Assign::Mode::pipe});
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(run.wait_for_prompt(std::chrono::milliseconds(0)));
  EXPECT_NE(run.output().find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace reeve::keeper
