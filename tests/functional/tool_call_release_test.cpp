#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Agents that end with exit code 90 while their calls wait: nothing of them runs, and a later attempt gets the answers
// (APR-5, APR-7, APR-8, APR-13).
namespace reeve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;

class ToolCallRelease : public testing::ToolCallsTest {
 protected:
  ToolCallRelease() { configure(agent_config("")); }

  // Shell: asks; while the call waits, the agent ends with 90.
  static std::string ask_or_leave(const std::string& call) {
    return "act " + call + " --once --defer; code=$?; [ $code = 90 ] && exit 90\necho $REEVE_ATTEMPT code $code\n";
  }
  // Waits until the run is released: its process has ended and its calls wait.
  void wait_for_release(const std::string& run) const {
    EXPECT_TRUE(testing::eventually([&] {
      const std::vector<Members> calls = calls_of(run);
      return !calls.empty() && calls.back().at("outcome") == "deferred";
    })) << logs(run);
    EXPECT_EQ(show(run)["status"], "waiting_approval");
    EXPECT_TRUE(testing::eventually([&] { return tools().empty(); })) << "the agent has not ended";
  }
  std::string question_of_call(const std::string& run, const std::string& call) const {
    return call_of(run, call)["approval_id"];
  }
};

TEST_F(ToolCallRelease, released_agent_resumes_with_the_approval_after_a_crash) {
  const std::string run = begin(ask_or_leave("c1 ask_me '{\"n\":1}'"));
  wait_for_release(run);
  const std::string question = question_of_call(run, "c1");
  kill_daemon();
  EXPECT_EQ(approve(question, {"--comment", "go on"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_THAT(logs(run), HasSubstr("2 code 0\n"));
  EXPECT_THAT(logs(run), HasSubstr("go on"));
  EXPECT_EQ(question_count(run), 1);
  EXPECT_EQ(calls_of(run).size(), 1U);
  EXPECT_EQ(call_of(run, "c1")["outcome"], "ran");
  EXPECT_EQ(show(question)["use"], "used");
  expect_audit_intact();
}

// APR-8: a rejection resumes as well, and the agent reads the comment.
TEST_F(ToolCallRelease, released_agent_resumes_with_the_rejection_after_a_crash) {
  const std::string run = begin(ask_or_leave("c1 ask_me '{}'"));
  wait_for_release(run);
  const std::string question = question_of_call(run, "c1");
  kill_daemon();
  EXPECT_EQ(reject(question, {"--comment", "use the staging bucket"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), HasSubstr("use the staging bucket"));
  EXPECT_THAT(logs(run), HasSubstr("2 code 1\n"));
  EXPECT_EQ(question_count(run), 1);
  expect_audit_intact();
}

// APR-8: silence denies, and the agent continues.
TEST_F(ToolCallRelease, released_agent_resumes_when_its_question_expires) {
  configure(agent_config("", "", "supervision: {approval_expiry: {tool_call: 3s}}\n"));
  const std::string run = begin(ask_or_leave("c1 ask_me '{}'"));
  wait_for_release(run);
  kill_daemon();
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), HasSubstr("expired"));
  EXPECT_THAT(logs(run), HasSubstr("2 code 1\n"));
  EXPECT_EQ(question_count(run), 1);
}

// The exit is found by the next daemon.
TEST_F(ToolCallRelease, agent_that_leaves_without_a_daemon_is_released) {
  const std::string run =
      begin("if [ $REEVE_ATTEMPT = 1 ]; then call c1 ask_me '{}' --once --defer; wait_file go; exit 90; fi\n" +
            ask_or_leave("c1 ask_me '{}'"));
  const std::string question = wait_for_question(run);
  kill_daemon();
  let("go");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  EXPECT_EQ(approve(question).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(question_count(run), 1);
}

// The answer comes between the question and the exit.
TEST_F(ToolCallRelease, answer_that_is_there_at_the_exit_resumes_at_once) {
  const std::string run =
      begin("if [ $REEVE_ATTEMPT = 1 ]; then call c1 ask_me '{}' --once --defer; wait_file go; exit 90; fi\n" +
            ask_or_leave("c1 ask_me '{}'"));
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  wait_for_status(run, "running");
  let("go");
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(question_count(run), 1);
}

TEST_F(ToolCallRelease, agent_resumes_when_all_its_calls_are_answered) {
  const std::string run = begin(
      "act c1 ask_me '{\"n\":1}' --once --defer; a=$?; act c2 ask_me '{\"n\":2}' --once --defer; b=$?\n"
      "[ $a$b = 9090 ] && exit 90; echo $REEVE_ATTEMPT codes $a $b");
  wait_for_release(run);
  EXPECT_EQ(approve(question_of_call(run, "c1")).code, 0);
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  EXPECT_EQ(show(run)["attempt"], "1");
  EXPECT_EQ(reject(question_of_call(run, "c2")).code, 0);
  expect_completed(run);
  EXPECT_THAT(logs(run), HasSubstr("2 codes 0 1\n"));
  EXPECT_THAT(executed(), ElementsAre("c1"));
}

// A resumed agent may number its calls anew: the content decides.
TEST_F(ToolCallRelease, call_is_recognised_under_another_id) {
  const std::string run = begin(ask_or_leave("c$REEVE_ATTEMPT ask_me '{\"n\":1}'"));
  wait_for_release(run);
  EXPECT_EQ(approve(question_of_call(run, "c1")).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("c2"));
  EXPECT_EQ(question_count(run), 1);
}

// APR-10: what was approved is what may run.
TEST_F(ToolCallRelease, other_arguments_in_the_next_attempt_ask_again) {
  const std::string run = begin(ask_or_leave("c1 ask_me '{\"n\":'$REEVE_ATTEMPT'}'"));
  wait_for_release(run);
  const std::string first = question_of_call(run, "c1");
  EXPECT_EQ(approve(first).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return question_count(run) == 2; })) << logs(run);
  EXPECT_THAT(executed(), IsEmpty());
  const std::string second = question_of_call(run, "c1");
  EXPECT_NE(second, first);
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_NE(show(first)["use"], "used");
}

// APR-7: an approval is used by one attempt.
TEST_F(ToolCallRelease, answer_is_handed_out_to_one_attempt) {
  const std::string run = begin(ask_or_leave("c1 ask_me '{\"n\":1}'") +
                                "[ $REEVE_ATTEMPT = 2 ] && { call c2 ask_me '{\"n\":2}' --once "
                                "--defer; exit 90; }\nexit 0");
  wait_for_release(run);
  EXPECT_EQ(approve(question_of_call(run, "c1")).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return calls_of(run).size() == 2; }));
  wait_for_release(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(approve(question_of_call(run, "c2")).code, 0);
  // The third attempt asks for the first call again, which is a new question.
  EXPECT_TRUE(testing::eventually([&] { return question_count(run) == 3; })) << logs(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
}

struct Exit {
  const char* name;
  const char* command;
};

class ToolCallOtherExit : public ToolCallRelease, public ::testing::WithParamInterface<Exit> {};

// TOOL-9: nobody waits for the answer any more.
TEST_P(ToolCallOtherExit, withdraws_its_calls) {
  const std::string run = begin(std::string("call c1 ask_me '{}' --once --defer; ") + GetParam().command);
  Members over = finish(run);
  EXPECT_EQ(over["attempt"], "1");
  EXPECT_NE(over["status"], "waiting_approval");
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["outcome"], "withdrawn");
  EXPECT_EQ(show(call["approval_id"])["status"], "expired");
  EXPECT_EQ(approve(call["approval_id"]).code, 4);
  EXPECT_EQ(show(run)["attempt"], "1");
  expect_audit_intact();
}

INSTANTIATE_TEST_SUITE_P(Exits, ToolCallOtherExit,
                         ::testing::Values(Exit{"success", "exit 0"}, Exit{"failure", "exit 3"},
                                           Exit{"signal", "kill -9 $$"}),
                         [](const auto& exit) { return exit.param.name; });

}  // namespace
}  // namespace reeve
