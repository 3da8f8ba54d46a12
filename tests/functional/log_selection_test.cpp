#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// `reeve logs` with --grep, --tail and --since, of runs and executions.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;

class LogSelection : public testing::ScriptedFlowTest {};

TEST_F(LogSelection, grep_tail_and_since_select_lines_of_a_run) {
  EXPECT_EQ(run({}, {"lines", "2000"}).code, 0);
  EXPECT_EQ(reeve({"logs", "TR-1", "--tail", "2"}).out, "line 001999\nline 002000\n");
  EXPECT_EQ(reeve({"logs", "TR-1", "--grep", "01[0-9]00$"}).out,
            "line 001000\nline 001100\nline 001200\nline 001300\nline 001400\nline 001500\nline 001600\nline 001700\n"
            "line 001800\nline 001900\n");
  EXPECT_EQ(reeve({"logs", "TR-1", "--grep", "00$", "--tail", "1"}).out, "line 002000\n");
  EXPECT_EQ(testing::count_of(reeve({"logs", "TR-1", "--since", "1h"}).out, "\n"), 2'000);
  EXPECT_EQ(reeve({"logs", "TR-1", "--since", "2100-01-01"}).out, "");
  EXPECT_EQ(testing::count_of(reeve({"logs", "TR-1", "--since", "2001-01-01 12:30"}).out, "\n"), 2'000);
}

TEST_F(LogSelection, follow_with_tail_shows_the_last_lines_and_then_all_that_follow) {
  const Gate gate(scratch().path() / "gate");
  const Outcome started = reeve({"run", "--detach", "--", "sh", "-c",
                                 "echo one; echo two; echo three; read x <'" + gate.path() + "'; echo four"});
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "three\n");
  const auto follower = start({"logs", "-f", "TR-1", "--tail", "1"});
  ASSERT_TRUE(follower->wait_for("three\n"));
  gate.open();
  ASSERT_TRUE(follower->wait_for("four\n"));
  EXPECT_EQ(follower->wait(), 0);
  EXPECT_EQ(follower->out(), "three\nfour\n");
}

// LOG-4: a pattern sees what the reader sees, so it cannot probe for a secret.
TEST_F(LogSelection, grep_sees_the_redacted_text) {
  const Outcome outcome = reeve({"run", "--env", "MY_TOKEN=hunter2hunter2", "--", "sh", "-c", "echo key $MY_TOKEN"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(reeve({"logs", "TR-1", "--grep", "hunter2"}).out, "");
  EXPECT_EQ(reeve({"logs", "TR-1", "--grep", "key \\*"}).out, "key ***\n");
}

TEST_F(LogSelection, values_that_cannot_be_used_are_explained) {
  EXPECT_EQ(run({}, {"lines", "1"}).code, 0);
  Outcome outcome = reeve({"logs", "TR-1", "--grep", "(a"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("not a valid regular expression"), HasSubstr("missing )")));
  EXPECT_THAT(reeve({"logs", "TR-1", "--grep", std::string(2'000, 'x')}).err, HasSubstr("longer than 1 KiB"));
  outcome = reeve({"logs", "TR-1", "--since", "yesterday"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("use a duration (10m, 2h) or a time"));
  EXPECT_EQ(reeve({"logs", "TR-1", "--tail", "0"}).code, 2);
  EXPECT_THAT(reeve({"logs", "--all", "--grep", "x"}).err, HasSubstr("needs the id of a run or execution"));
}

TEST_F(LogSelection, logs_of_an_execution_are_those_of_its_runs_in_order) {
  const std::string id = start_flow(
      workflow(shell("first", "echo 1; echo 2") + shell("second", "echo 3; echo 4 >&2"), edges("first>second")));
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_THAT(reeve({"logs", id}).out,
              MatchesRegex("TR-[0-9]+ first │ 1\nTR-[0-9]+ first │ 2\nTR-[0-9]+ second │ 3\nTR-[0-9]+ second │ 4\n"));
  EXPECT_THAT(reeve({"logs", id, "--grep", "[23]", "--tail", "1"}).out, MatchesRegex("TR-[0-9]+ second │ 3\n"));
  // It has ended, so following ends too.
  EXPECT_EQ(reeve({"logs", "-f", id}).out, reeve({"logs", id}).out);
  EXPECT_EQ(reeve({"logs", "EX-99"}).code, 3);
}

TEST_F(LogSelection, since_selects_lines_of_all_runs_of_an_execution) {
  const std::string id =
      start_flow(workflow(shell("first", "echo 1; sleep 0.05") + shell("second", "echo 2"), edges("first>second")));
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(testing::count_of(reeve({"logs", id, "--since", "1h"}).out, "\n"), 2);
  EXPECT_EQ(reeve({"logs", id, "--since", "2100-01-01"}).out, "");
  const std::string second = node_of(execution(id), "second")["tool_run_id"];
  EXPECT_EQ(reeve({"logs", id, "--since", show(second).at("started_at")}).out, second + " second │ 2\n");
}

TEST_F(LogSelection, following_an_execution_shows_runs_that_start_later) {
  const Gate gate(scratch().path() / "gate");
  const std::string id = start_flow(workflow(
      shell("first", "echo one; read x <'" + gate.path() + "'") + shell("second", "echo two"), edges("first>second")));
  const auto follower = start({"logs", "-f", id});
  ASSERT_TRUE(follower->wait_for(" one\n"));
  gate.open();
  ASSERT_TRUE(follower->wait_for(" two\n"));
  EXPECT_EQ(follower->wait(), 0);
}

}  // namespace
}  // namespace reeve
