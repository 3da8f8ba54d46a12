#include "keeper/run_keeper.h"

#include <gtest/gtest.h>

#include "tests/support/keeper/kept_run.h"

// A keeper as seen by a daemon: the prompts it reports, and the answers it types (RUN-10).
namespace reeve::keeper {
namespace {

using testing::KeptRun;
using testing::User;

KeptRun::Argv bash(const std::string& script) { return {"/bin/bash", "-c", script}; }

TEST(RunKeeper, reports_a_prompt_and_types_the_answer_once) {
  KeptRun run(bash("read -p 'Go? ' a; read -p 'Sure? ' b; read -p 'Really? ' c; echo got=$a,$b,$c"), {});
  const auto first = run.wait_for_prompt();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->serial, 1U);
  EXPECT_EQ(first->certainty, Prompt::Certainty::certain);
  EXPECT_GT(first->position, 0U);
  EXPECT_EQ(run.answer(1, 2, "wrong\r"), false) << "there is no such prompt";
  EXPECT_EQ(run.answer(1, 1, "y\r"), true);
  EXPECT_TRUE(run.wait_for_over(1));
  EXPECT_EQ(run.answer(1, 1, "y\r"), true) << "repeated by a daemon that missed the confirmation";
  EXPECT_EQ(run.answer(2, 1, "late\r"), false) << "that prompt is over";
  const auto second = run.wait_for_prompt();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->serial, 2U);
  EXPECT_EQ(run.answer(1, 2, "old\r"), true) << "already typed, and not typed again";
  EXPECT_EQ(run.answer(7, 2, "n\r"), true);
  const auto third = run.wait_for_prompt();
  ASSERT_TRUE(third);
  EXPECT_EQ(run.answer(6, 3, "old\r"), false) << "lower than the last number";
  EXPECT_EQ(run.answer(8, 3, "z\r"), true);
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  EXPECT_NE(run.output().find("got=y,n,z"), std::string::npos) << run.output();
}

TEST(RunKeeper, reports_an_open_prompt_to_the_next_daemon) {
  KeptRun run(bash("read -s -p 'Password: ' a; echo; echo got=$a; sleep 60"), {});
  const auto prompt = run.wait_for_prompt();
  ASSERT_TRUE(prompt);
  EXPECT_TRUE(prompt->is_secret);
  EXPECT_EQ(run.answer(5, 1, ""), false) << "nothing to type";
  ASSERT_TRUE(run.reconnect());
  ASSERT_TRUE(run.wait_for_prompt());
  EXPECT_EQ(run.answer(5, 1, "secret\r"), true);
  ASSERT_TRUE(run.wait_for_output("got=secret"));
  EXPECT_EQ(run.output().find("Password: secret"), std::string::npos) << "not echoed";
}

TEST(RunKeeper, keeps_the_prompt_serial_for_the_next_daemon) {
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

TEST(RunKeeper, prompt_ends_when_input_arrives_or_the_tool_ends) {
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

// In pipe mode the tool reads end of file.
TEST(RunKeeper, does_not_watch_pipes) {
  KeptRun run(bash("read a || echo nothing; sleep 1"), {.mode = Assign::Mode::pipe});
  const auto end = run.wait_for_exit();
  ASSERT_TRUE(end);
  EXPECT_FALSE(run.wait_for_prompt(std::chrono::milliseconds(0)));
  EXPECT_NE(run.output().find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace reeve::keeper
