#include "tests/support/tool_calls.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Tool calls on the socket of a run: the rules decide, or a person, and the agent gets the answer (TOOL-1 … TOOL-9).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class ToolCalls : public testing::ToolCallsTest {
 protected:
  // Waits for the event; the log lags behind the store.
  void expect_events(const std::string& run, const std::string& event, int count) const {
    EXPECT_TRUE(testing::eventually([&] { return count_events(run, event) == count; }))
        << count_events(run, event) << " events " << event;
  }
};

// TOOL-1, TOOL-7
TEST_F(ToolCalls, call_allowed_by_a_rule_runs_without_a_question) {
  const std::string run = begin("act c1 probe '{\"n\":1}'");
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_THAT(logs(run), HasSubstr(R"("decision":"allow","rule":"policies.tools.probe")"));
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["decision"], "allow");
  EXPECT_EQ(call["answer"], "allow");
  EXPECT_EQ(call["outcome"], "ran");
  EXPECT_EQ(call["approval_id"], "null");
  EXPECT_EQ(call["channel"], "socket");
  EXPECT_EQ(reeve({"approvals", "--all"}).out, "");
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("tool_call_decided"));
  expect_audit_intact();
}

// TOOL-1, TOOL-2, APR-14
TEST_F(ToolCalls, denied_call_runs_nothing_and_asks_nobody) {
  const std::string run = begin("act c1 forbidden '{}'; echo code $?");
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"("decision":"deny","rule":"policies.tools.forbidden")"),
                               HasSubstr("denied by policies.tools.forbidden"), HasSubstr("code 1\n")));
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["decision"], "deny");
  EXPECT_EQ(call["outcome"], "denied");
  EXPECT_EQ(reeve({"approvals", "--all"}).out, "");
  expect_events(run, "policy_denied", 1);
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("policy_denied"));
  expect_audit_intact();
}

// TOOL-7: what no rule and no table knows asks a person.
TEST_F(ToolCalls, unknown_tool_asks) {
  const std::string run = begin("act c1 launch_rocket '{\"to\":\"moon\"}'");
  const std::string question = wait_for_question(run);
  EXPECT_THAT(show(question)["question"], HasSubstr("launch_rocket"));
  EXPECT_EQ(call_of(run, "c1")["rule"], "unknown tool");
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
}

// TOOL-3, APR-1, APR-8
TEST_F(ToolCalls, approval_and_its_comment_reach_the_agent) {
  const std::string run = begin("echo thinking about it; wait_file go; act c1 ask_me '{\"n\":1}'");
  wait_for_output(run, "thinking about it");
  let("go");
  const std::string question = wait_for_question(run);
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  EXPECT_THAT(executed(), IsEmpty());
  Members asked = show(question);
  EXPECT_EQ(asked["kind"], "tool_call");
  EXPECT_THAT(asked["context"], AllOf(HasSubstr("folder: " + project().string()), HasSubstr("thinking about it"),
                                      HasSubstr("unknown tool")));
  EXPECT_THAT(asked["arguments"], HasSubstr("\"n\":1"));
  EXPECT_EQ(approve(question, {"--comment", "only today"}).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"("decision":"allow")"), HasSubstr("only today")));
  EXPECT_EQ(show(question)["use"], "used");
  EXPECT_EQ(call_of(run, "c1")["outcome"], "ran");
  expect_events(run, "tool_approval_pending", 1);
  expect_audit_intact();
}

// APR-8: a rejected call is denied, with the comment, and its agent continues in the same attempt.
TEST_F(ToolCalls, rejection_and_its_comment_reach_the_agent) {
  const std::string run = begin("act c1 ask_me '{}'; echo code $? attempt $REEVE_ATTEMPT");
  EXPECT_EQ(reject(wait_for_question(run), {"--comment", "use the staging bucket"}).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"("decision":"deny")"), HasSubstr("use the staging bucket"),
                               HasSubstr("code 1 attempt 1\n")));
  EXPECT_EQ(call_of(run, "c1")["outcome"], "denied");
  expect_audit_intact();
}

// APR-4, APR-8, TOOL-9: nobody refused it, and the agent is not told so.
TEST_F(ToolCalls, expired_question_denies_the_call_and_the_agent_continues) {
  configure(agent_config(", resume: live", "", "supervision: {approval_expiry: {tool_call: 1s}}\n"));
  const std::string run = begin("act c1 ask_me '{}'; echo code $?");
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), AllOf(HasSubstr(R"("decision":"deny")"), HasSubstr("expired"), HasSubstr("code 1\n"),
                               Not(HasSubstr("rejected"))));
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["outcome"], "denied");
  EXPECT_EQ(show(call["approval_id"])["status"], "expired");
  expect_audit_intact();
}

// APR-9
TEST_F(ToolCalls, calls_wait_in_parallel_beside_one_question) {
  const std::string run = begin(
      "post approvals '{\"question\":\"Deploy?\",\"approval_id\":\"deploy\"}'; echo\n"
      "'" +
      testing::zoo_binary() + "' calls w 5 ask_me '{\"n\":{n}}' --lanes 5 --effect '" +
      (scratch().path() / "effects").string() + "'; echo asked; wait_file go");
  const std::vector<Members> waiting = wait_for_waiting(run, 5);
  ASSERT_EQ(waiting.size(), 5U);
  EXPECT_EQ(testing::lines_of(reeve({"approvals"}).out).size(), 6U);
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    EXPECT_EQ(show(run)["status"], "waiting_approval");
    const std::string& question = waiting[i].at("approval_id");
    if (i % 2 == 0) allowed.push_back(waiting[i].at("native_id"));
    EXPECT_EQ((i % 2 == 0 ? approve(question) : reject(question)).code, 0);
  }
  wait_for_output(run, "allowed 3 denied 2");
  EXPECT_EQ(show(run)["status"], "waiting_approval") << "the question is still open";
  EXPECT_EQ(approve("AP-1").code, 0);
  wait_for_status(run, "running");
  let("go");
  expect_completed(run);
  std::ranges::sort(allowed);
  EXPECT_EQ(executed(), allowed);
  expect_events(run, "tool_approval_pending", 5);
  expect_audit_intact();
}

// RUN-3: the time that a person takes is not the tool's.
TEST_F(ToolCalls, clock_is_held_while_a_call_waits) {
  configure(agent_config(", resume: live, timeout: 2s"));
  const std::string waits = begin("act c1 ask_me '{}'");
  const std::string question = wait_for_question(waits);
  // A run of the same tool that began later is over its time.
  const std::string works = begin("wait_file never");
  EXPECT_EQ(finish(works)["status"], "failed_timeout");
  EXPECT_EQ(show(waits)["status"], "waiting_approval");
  EXPECT_EQ(approve(question).code, 0);
  expect_completed(waits);
  EXPECT_THAT(executed(), ElementsAre("c1"));
}

// TOOL-7: recognised by its id and its digest.
TEST_F(ToolCalls, repeated_call_gets_the_same_answer_and_one_approval) {
  const std::string run = begin(
      "for i in 1 2 3; do call c1 ask_me '{\"a\":1,\"b\":[2]}' & done; wait\n"
      "call c1 ask_me '{\"b\":[2],\"a\":1}'; call c2 probe '{}'; call c2 probe '{}'; call c3 forbidden '{}'\n"
      "call c3 forbidden '{}'; true");
  const std::string question = wait_for_question(run);
  EXPECT_EQ(approve(question).code, 0);
  expect_completed(run);
  EXPECT_EQ(testing::count_of(logs(run), R"("call_id":"TC-1","decision":"allow")"), 4) << logs(run);
  EXPECT_EQ(question_count(run), 1);
  EXPECT_EQ(calls_of(run).size(), 3U);
  expect_events(run, "policy_denied", 1);
  expect_events(run, "tool_approval_pending", 1);
}

// TOOL-7
TEST_F(ToolCalls, calls_are_listed_and_shown) {
  const std::string run = begin("act c1 probe '{\"command\":\"make all\"}'; act c2 forbidden '{}'; act c3 ask_me '{}'");
  const std::string question = wait_for_question(run);
  const std::string other = begin("act c1 probe '{}'");
  expect_completed(other);
  const std::string listed = reeve({"calls", run}).out;
  const std::vector<std::string> lines = testing::lines_of(listed);
  ASSERT_EQ(lines.size(), 3U) << listed;
  EXPECT_THAT(lines[2], AllOf(HasSubstr("TC-1\t" + run), HasSubstr("\tprobe\tmake all\tallow\tpolicies.tools.probe\t"),
                              HasSubstr("\tran\t")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("\tforbidden\t"), HasSubstr("\tdeny\t"), HasSubstr("\tdenied\t")));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("\task_me\t"), HasSubstr("\task\t"), HasSubstr("\twaiting\t")));
  EXPECT_EQ(testing::lines_of(reeve({"calls"}).out).size(), 4U);
  EXPECT_THAT(reeve({"show", run, "--calls"}).out, AllOf(HasSubstr("TC-1"), HasSubstr("make all"), HasSubstr("TC-3")));
  EXPECT_THAT(reeve({"show", "TC-1"}).out, AllOf(HasSubstr("native_id\tc1\n"), HasSubstr("outcome\tran\n")));
  EXPECT_THAT(request("GET", "/api/tool-calls?run=" + run + "&limit=2"),
              AllOf(HasSubstr("TC-3"), HasSubstr("TC-2"), Not(HasSubstr("TC-1\""))));
  EXPECT_THAT(request("GET", "/api/tool-calls/TC-2"), HasSubstr(R"("native_tool":"forbidden")"));
  EXPECT_THAT(request("GET", "/api/tool-calls/TC-99"), HasSubstr("call.not_found"));
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
}

TEST_F(ToolCalls, new_calls_are_followed) {
  const std::string run = begin("act c1 probe '{}'; wait_file go; act c2 probe '{\"command\":\"the second\"}'");
  const auto follower = start({"calls", "-f", run});
  ASSERT_TRUE(follower->wait_for("TC-1\t"));
  let("go");
  EXPECT_TRUE(follower->wait_for("the second"));
  expect_completed(run);
}

// APR-9: a refused question is no breach of a policy, and calls may be asked beside it.
TEST_F(ToolCalls, refused_second_question_is_no_policy_event) {
  const std::string run = begin(
      "post approvals '{\"question\":\"One?\",\"approval_id\":\"a\"}' >/dev/null\n"
      "post approvals '{\"question\":\"Two?\",\"approval_id\":\"b\"}'; echo; act c1 probe '{}'; echo asked; wait_file "
      "go");
  wait_for_output(run, "asked");
  EXPECT_THAT(logs(run), HasSubstr("approval.one_at_a_time"));
  EXPECT_EQ(reject("AP-1").code, 0);
  let("go");
  finish(run);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(count_events(run, "policy_denied"), 0);
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, Not(HasSubstr("policy_denied")));
}

// TOOL-1: an agent that can write the config of its project would approve itself.
TEST_F(ToolCalls, config_changed_during_a_run_does_not_loosen_it) {
  const std::string run = begin("wait_file go; act c1 forbidden '{}'; act c2 ask_me '{}'");
  configure(
      "tools:\n  agent: {command: [/bin/sh, -c], resume: live}\npolicies:\n  tools: {forbidden: auto_approve, "
      "ask_me: auto_approve}\n");
  let("go");
  const std::string question = wait_for_question(run);
  EXPECT_EQ(call_of(run, "c1")["answer"], "deny");
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
  // The next run has the new rules.
  const std::string next = begin("act c3 forbidden '{}'");
  expect_completed(next);
  EXPECT_THAT(executed(), ElementsAre("c3"));
}

// TOOL-1: the policies of a run are those of its start, also for a daemon that finds the run.
TEST_F(ToolCalls, next_daemon_decides_by_the_policies_of_the_start) {
  const std::string run = begin("wait_file go; act c1 probe '{}'; act c2 forbidden '{}'; act c3 ask_me '{}' --once");
  wait_for_status(run, "running");
  configure(
      "tools:\n  agent: {command: [/bin/sh, -c], resume: live}\npolicies:\n  tools: {probe: deny, forbidden: "
      "auto_approve, ask_me: auto_approve}\n");
  kill_daemon();
  let("go");
  expect_completed(run);
  EXPECT_EQ(call_of(run, "c1")["decision"], "allow");
  EXPECT_EQ(call_of(run, "c2")["decision"], "deny");
  EXPECT_EQ(call_of(run, "c3")["decision"], "ask");
  EXPECT_THAT(executed(), ElementsAre("c1"));
}

// TOOL-9: what ends without an answer leaves nothing that could still be allowed.
TEST_F(ToolCalls, call_of_an_agent_that_ended_is_withdrawn) {
  const std::string run = begin("call c1 ask_me '{}' --once; exit 0");
  expect_completed(run);
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["outcome"], "withdrawn");
  EXPECT_EQ(show(call["approval_id"])["status"], "expired");
  EXPECT_EQ(approve(call["approval_id"]).code, 4);
}

// A call whose session continued without it cannot be allowed any more.
TEST_F(ToolCalls, withdrawn_call_cannot_be_approved) {
  const std::string run = begin(
      "call c1 ask_me '{}' --once; post tool-calls/c1/withdraw '{}'; echo; echo gone; wait_file go; act c1 ask_me "
      "'{}'");
  wait_for_output(run, "gone");
  Members call = call_of(run, "c1");
  EXPECT_EQ(call["outcome"], "withdrawn");
  EXPECT_EQ(approve(call["approval_id"]).code, 4);
  wait_for_status(run, "running");
  let("go");
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
}

// TOOL-7: a result for a call that was not allowed is recorded as what it is.
TEST_F(ToolCalls, result_of_a_call_that_was_not_allowed_is_reported) {
  const std::string run = begin(
      "call c1 forbidden '{}'; post tool-calls/c1/result '{}'; echo; call c2 ask_me '{}' --once\n"
      "post tool-calls/c2/result '{\"failed\":true}'; echo");
  expect_completed(run);
  EXPECT_EQ(call_of(run, "c1")["outcome"], "ungated");
  Members second = call_of(run, "c2");
  EXPECT_EQ(second["outcome"], "ungated");
  EXPECT_EQ(show(second["approval_id"])["status"], "expired");
  expect_events(run, "policy_denied", 3);
}

}  // namespace
}  // namespace reeve
