#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// GRF-7: tasks whose own runs wait for a person, with the built daemon.
namespace reeve {
namespace {

using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using testing::Outcome;

class FlowWaiting : public testing::ScriptedFlowTest {
 protected:
  // `a` asks, `b` runs in parallel; one at a time.
  std::string side_by_side() const {
    return workflow(node("split", "parallel, parallel_config: {branches: [a, b], wait_for: all}") +
                        shell("a", asks_then("answered")) + shell("b", mark("b")) +
                        node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
                    edges("split>a, split>b, a>end, b>end"), "{max_parallel_nodes: 1}");
  }
  std::string run_of(const std::string& id, const std::string& node) const {
    return node_of(execution(id), node)["tool_run_id"];
  }
};

TEST_F(FlowWaiting, no_wait_returns_when_only_a_person_can_continue) {
  const std::string file = write_flow(workflow(shell("a", asks_then("answered")), ""));
  const Outcome outcome = reeve({"flow", "run", file, "--no-wait", "--json"});
  EXPECT_EQ(outcome.code, 90) << outcome.out << outcome.err;
  Members waiting = testing::parse_object(outcome.out).value_or(Members());
  EXPECT_EQ(waiting["status"], "waiting_approval");
  EXPECT_EQ(status_of(waiting, "a"), "waiting_approval");
  const std::string id = waiting["execution_id"];
  EXPECT_THAT(reeve({"flow", "list", "--status", "waiting_approval"}).out, HasSubstr(id));
  EXPECT_EQ(reeve({"approve", "--yes", wait_for_question(id)}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(effects().size(), 1U);
  EXPECT_EQ(node_of(ended, "a")["attempt"], "1") << "it went on, it was not tried again";
}

// GRF-14: newly runnable nodes start at once, not when the answer comes.
TEST_F(FlowWaiting, waiting_node_frees_its_slot) {
  const std::string id = start_flow(side_by_side());
  wait_for_node(id, "b", "completed");
  EXPECT_EQ(status_of(execution(id), "a"), "waiting_approval");
  EXPECT_EQ(wait_for_execution(id, "waiting_approval").at("status"), "waiting_approval");
  EXPECT_EQ(effect_count("b"), 1);
  EXPECT_EQ(reeve({"approve", "--yes", wait_for_question(id)}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
}

TEST_F(FlowWaiting, rejection_fails_the_node) {
  const std::string id = start_flow(workflow(shell("a", asks_then("answered"), "retry: {attempts: 3}"), ""));
  wait_for_node(id, "a", "waiting_approval");
  EXPECT_EQ(reeve({"reject", wait_for_question(id), "--comment", "not now"}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(status_of(ended, "a"), "failed");
  EXPECT_THAT(node_of(ended, "a")["error"], HasSubstr("not now"));
  EXPECT_THAT(effects(), IsEmpty());
}

TEST_F(FlowWaiting, cancel_ends_waiting_nodes) {
  const std::string id = start_flow(side_by_side());
  wait_for_execution(id, "waiting_approval");
  const std::string question = wait_for_question(id);
  const std::string run = run_of(id, "a");
  EXPECT_EQ(reeve({"flow", "cancel", id}).code, 0);
  EXPECT_EQ(status_of(end_of(id), "a"), "cancelled");
  wait_for_status(run, "cancelled");
  EXPECT_EQ(show(question)["status"], "expired");
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 4);
  EXPECT_THAT(effects(), ElementsAre("b"));
}

// GRF-13, RUN-13: kill -9 while it waits.
TEST_F(FlowWaiting, next_daemon_resumes_waiting_nodes) {
  const std::string id = start_flow(side_by_side());
  wait_for_execution(id, "waiting_approval");
  const std::string run = run_of(id, "a");
  kill_daemon();
  const Members after = execution(id);
  EXPECT_EQ(after.at("status"), "waiting_approval");
  EXPECT_EQ(status_of(after, "a"), "waiting_approval");
  EXPECT_EQ(run_of(id, "a"), run) << "nothing was begun again";
  EXPECT_EQ(show(run)["status"], "waiting_approval") << "it is nobody's orphan";
  kill_daemon();
  EXPECT_EQ(reeve({"approve", "--yes", wait_for_question(id)}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effects().size(), 2U) << "each once";
}

// GRF-14: its process ends without an answer, and the task may be retried.
TEST_F(FlowWaiting, task_that_fails_while_waiting_is_retried) {
  const Gate gate(scratch().path() / "gate");
  const std::string script =
      "test -e again && exec true; touch again; " + ask_line() + "; read x <" + gate.path() + "; exit 3";
  const std::string id = start_flow(workflow(shell("a", script, "retry: {attempts: 2}"), ""));
  wait_for_node(id, "a", "waiting_approval");
  gate.open();
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(node_of(ended, "a")["attempt"], "2");
}

// GRF-11
TEST_F(FlowWaiting, subgraph_waits_with_its_child) {
  write_flow(
      "{id: inner, name: Inner, entry_point: ask, nodes: [{id: ask, type: human, human_config: {title: Ship it?}}, "
      "{id: work, type: task, task_config: {role: shell, task_template: 'echo work >>$EFFECTS'}}], "
      "edges: [{id: e1, source: ask, target: work}]}",
      "inner.yaml");
  const Members waiting = run_flow(workflow(node("sub", "subgraph, subgraph_config: {workflow_name: inner}"), ""));
  EXPECT_EQ(waiting.at("status"), "waiting_approval");
  EXPECT_EQ(status_of(waiting, "sub"), "waiting_approval");
  const std::string child = node_of(waiting, "sub")["child_execution_id"];
  EXPECT_EQ(reeve({"approve", "--yes", question_at(child, "ask")}).code, 0);
  EXPECT_EQ(end_of(waiting.at("execution_id")).at("status"), "completed");
  EXPECT_THAT(effects(), ElementsAre("work"));
}

}  // namespace
}  // namespace reeve
