#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// Human nodes and subgraphs in workflows (GRF-11, GRF-12), with the built daemon.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using testing::Outcome;

class FlowPeople : public testing::ScriptedFlowTest {
 protected:
  static std::string human(const std::string& id, const std::string& more = {}) {
    return node(id, fmt::format("human, human_config: {{title: Ship it?{}}}", more));
  }
  static std::string said(const std::string& id) {
    return node(id, "task, task_config: {role: shell, task_template: \"echo '{approved}|{chosen_value}|{comment}'\"}");
  }
};

// GRF-12
TEST_F(FlowPeople, question_has_the_nodes_options_and_the_answer_reaches_the_task) {
  const std::string options =
      ", description: All gates passed., options: [{value: now, label: Right now}, {value: later, label: Tonight}, "
      "{value: back, label: Send it back, approves: false}]";
  const std::string id = start_flow(workflow(human("ask", options) + said("next"), edges("ask>next")));
  const std::string question = question_at(id, "ask");
  EXPECT_EQ(execution(id).at("status"), "waiting_approval");
  EXPECT_THAT(tools(), IsEmpty()) << "it holds no process";
  Members shown = show(question);
  EXPECT_EQ(shown["question"], "Ship it?");
  EXPECT_EQ(shown["node_id"], "ask");
  EXPECT_EQ(shown["execution_id"], id);
  EXPECT_EQ(shown["expires_at"], "null");
  EXPECT_THAT(shown["options"], AllOf(HasSubstr("Right now"), HasSubstr("Tonight"), HasSubstr("Send it back")));
  const Outcome unsure = reeve({"approve", "--yes", question});
  EXPECT_NE(unsure.code, 0);
  EXPECT_THAT(unsure.err, AllOf(HasSubstr("now"), HasSubstr("later")));
  EXPECT_EQ(reeve({"approve", "--yes", question, "--choice", "later", "--comment", "after eight"}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(outputs_of(ended, "next")["text"], "true|later|after eight\n");
  EXPECT_NE(outputs_of(ended, "ask")["decided_by"], "");
  const Outcome again = reeve({"reject", question});
  EXPECT_EQ(again.code, 4) << again.err;
}

// GRF-12: a rejection is a result when an edge or a branch follows it.
TEST_F(FlowPeople, rejection_follows_the_edge_of_the_workflow) {
  const std::string flow = workflow(
      human("ask") + shell("ship", mark("ship")) + said("rework"),
      "  - {id: e1, source: ask, target: ship, condition: {field: approved, operator: '==', value: true}}\n"
      "  - {id: e2, source: ask, target: rework, condition: {field: approved, operator: '==', value: false}}\n");
  const std::string id = start_flow(flow);
  EXPECT_EQ(reeve({"reject", question_at(id, "ask"), "--comment", "too soon"}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_THAT(outputs_of(ended, "rework")["text"], AllOf(HasSubstr("false|"), HasSubstr("|too soon")));
  EXPECT_EQ(status_of(ended, "ship"), "skipped");
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-12
TEST_F(FlowPeople, rejection_fails_the_node_when_no_edge_follows) {
  const std::string id = start_flow(workflow(human("ask") + shell("ship", mark("ship")), edges("ask>ship")));
  EXPECT_EQ(reeve({"reject", question_at(id, "ask"), "--comment", "never"}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(ended.at("reason"), HasSubstr("ask"));
  EXPECT_THAT(effects(), IsEmpty());
}

// APR-4, GRF-12
TEST_F(FlowPeople, expired_question_fails_the_node) {
  const std::string id =
      start_flow(workflow(human("ask", ", expires: 300ms") + shell("ship", mark("ship")), edges("ask>ship")));
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "ask")["error"], HasSubstr("expired"));
  EXPECT_EQ(history(id, "approvals").front().at("status"), "expired");
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-12, S5: also with a task in between, and across a daemon restart (PIP-4).
TEST_F(FlowPeople, question_survives_a_daemon_crash) {
  const std::string id = start_flow(workflow(human("ask") + said("next"), edges("ask>next")));
  const std::string question = question_at(id, "ask");
  kill_daemon();
  EXPECT_EQ(reeve({"approve", "--yes", question, "--comment", "still here"}).code, 0);
  EXPECT_EQ(outputs_of(end_of(id), "next")["text"], "true|approve|still here\n");
}

TEST_F(FlowPeople, cancel_withdraws_the_question) {
  const std::string id = start_flow(workflow(human("ask") + shell("ship", mark("ship")), edges("ask>ship")));
  const std::string question = question_at(id, "ask");
  EXPECT_EQ(reeve({"flow", "cancel", id}).code, 0);
  EXPECT_EQ(show(question)["status"], "expired");
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 4);
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-11
TEST_F(FlowPeople, subgraph_receives_inputs_and_returns_outputs) {
  write_flow(R"(id: inner
name: Inner
entry_point: work
nodes:
  - {id: work, type: task, task_config: {role: shell, task_template: "printf '{{\"got\":\"{topic}\"}}' >$REEVE_OUTPUT"}}
edges: []
)",
             "inner.yaml");
  const std::string flow =
      workflow(node("sub",
                    "subgraph, subgraph_config: {workflow_name: inner, input_mapping: {topic: goal}, "
                    "output_mapping: {answer: got}}") +
                   node("next", "task, task_config: {role: shell, task_template: \"echo 'it was {answer}'\"}"),
               edges("sub>next"));
  const Members ended = run_flow(flow, {"--input", "goal=bread"});
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(outputs_of(ended, "next")["text"], "it was bread\n");
  const std::string child = node_of(ended, "sub")["child_execution_id"];
  Members inner = execution(child);
  EXPECT_EQ(inner["workflow_id"], "inner");
  EXPECT_EQ(inner["status"], "completed");
  EXPECT_THAT(inner["parent"], AllOf(HasSubstr(ended.at("execution_id")), HasSubstr("\"sub\"")));
}

// GRF-11: a subgraph is visible, cancellable and resumable like any execution; a failed child fails its node.
TEST_F(FlowPeople, failed_subgraph_fails_its_node_and_is_resumed_by_retry) {
  write_flow(
      "{id: inner, name: Inner, entry_point: work, nodes: [{id: first, type: task, task_config: {role: shell, "
      "task_template: 'echo first >>$EFFECTS'}}, {id: work, type: task, task_config: {role: shell, task_template: "
      "'echo work >>$EFFECTS; test -e ready'}}], edges: [{id: e1, source: first, target: work}]}",
      "inner.yaml");
  std::string inner = testing::read_text(project() / ".reeve/workflows/inner.yaml");
  inner.replace(inner.find("entry_point: work"), 17, "entry_point: first");
  write_flow(inner, "inner.yaml");
  const std::string flow =
      workflow(node("sub", "subgraph, subgraph_config: {workflow_name: inner}") + shell("next", mark("next")),
               edges("sub>next"));
  const Members failed = run_flow(flow);
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_THAT(node_of(failed, "sub")["error"], HasSubstr("work"));
  scratch().write("project/ready", "");
  const std::string id = failed.at("execution_id");
  EXPECT_EQ(reeve({"flow", "retry", id}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_THAT(effects(), ElementsAre("first", "work", "work", "next")) << "nothing that completed is done again";
}

// GRF-11
TEST_F(FlowPeople, cancel_reaches_what_a_subgraph_runs) {
  write_flow(workflow(shell("deep", mark("+") + "; exec sleep 60"), ""), "deep.yaml");
  std::string deep = testing::read_text(project() / ".reeve/workflows/deep.yaml");
  deep.replace(0, 8, "id: deep");
  write_flow(deep, "deep.yaml");
  const std::string id = start_flow(workflow(node("sub", "subgraph, subgraph_config: {workflow_name: deep}"), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 1; }));
  const std::string child = node_of(execution(id), "sub")["child_execution_id"];
  EXPECT_EQ(reeve({"flow", "cancel", id}).code, 0);
  EXPECT_EQ(execution(child).at("status"), "cancelled");
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

}  // namespace
}  // namespace reeve
