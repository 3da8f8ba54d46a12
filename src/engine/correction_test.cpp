#include "engine/correction.h"

#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/encode.h"
#include "json/parse.h"
#include "spec/workflow_file.h"
#include "tests/support/engine/memory_execution.h"
#include "view/problem_text.h"

// GRF-14: a failed execution continues with a corrected workflow.
namespace reeve::engine {
namespace {

using model::NodeStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

model::Workflow parse(const std::string& yaml) {
  auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("w.yaml", yaml));
  if (!parsed) throw std::runtime_error(view::problems_text(parsed.error(), {}));
  return std::move(parsed->workflow);
}

std::string task(const std::string& id, const std::string& words) {
  return "  - {id: " + id + ", type: task, task_config: {role: r, task_template: \"" + words + "\"}}\n";
}

std::string workflow(const std::string& nodes, const std::string& edges, const std::string& more = "") {
  return "id: w\nname: W\nentry_point: a\nnodes:\n" + nodes + "edges: [" + edges + "]\n" + more;
}

const std::string two_edges = "{source: a, target: b}, {source: b, target: c}";

// a has completed, b has failed, c was not reached.
class Correcting : public ::testing::Test {
 protected:
  Correcting() : Correcting(workflow(task("a", "x") + task("b", "x") + task("c", "x"), two_edges)) {}
  explicit Correcting(const std::string& yaml) : workflow_(parse(yaml)), compiled_(workflow_), execution_(compiled_) {
    execution_.on(ExecutionStarted{});
    begin(0);
    execution_.on(NodeFinished{0, json::parse(R"({"text": "A", "plan": "P"})").value()});
    begin(1);
    execution_.on(NodeFailed{1, model::RetryOn::failed, "broken"});
  }
  void begin(graph::NodeIndex node) {
    if (execution_.node(node).status == NodeStatus::ready) execution_.on(NodeBegan{node});
  }
  std::vector<std::string> obstacles(const std::string& yaml, Seeds seeds = Seeds::same) const {
    const auto made = correct(execution_, parse(yaml), seeds);
    return made ? std::vector<std::string>() : made.error();
  }

  model::Workflow workflow_;
  CompiledWorkflow compiled_;
  testing::MemoryExecution execution_;
};

TEST_F(Correcting, nodes_that_have_not_completed_may_change) {
  const auto made = correct(
      execution_, parse(workflow(task("a", "x") + task("b", "better") + task("c", "y"), two_edges)), Seeds::same);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->workflow.nodes[1].task_config->task_template, "better");
  EXPECT_TRUE(made->fresh_inputs.empty()) << "it restarts with the inputs that it had";
}

TEST_F(Correcting, nodes_that_have_completed_may_not) {
  EXPECT_THAT(obstacles(workflow(task("a", "y") + task("b", "x") + task("c", "x"), two_edges)),
              ElementsAre(HasSubstr("the node `a` has completed")));
  // What is only shown may.
  EXPECT_THAT(obstacles(workflow("  - {id: a, label: First, type: task, task_config: {role: r, task_template: x}}\n" +
                                     task("b", "x") + task("c", "x"),
                                 two_edges)),
              ElementsAre());
}

TEST_F(Correcting, nothing_may_be_removed_and_all_obstacles_are_named) {
  EXPECT_THAT(obstacles(workflow(task("a", "y") + task("c", "x"), "{source: a, target: c}")),
              ElementsAre(HasSubstr("`a` has completed"), HasSubstr("the node `b` is missing"),
                          HasSubstr("the edge a → b is missing"), HasSubstr("the edge b → c is missing")));
}

TEST_F(Correcting, what_the_execution_was_set_up_with_may_not_change) {
  EXPECT_THAT(obstacles(workflow(task("a", "x") + task("b", "x") + task("c", "x"), two_edges,
                                 "config: {apply: manual, isolation: none}\n")),
              ElementsAre(HasSubstr("isolation"), HasSubstr("apply")));
}

TEST_F(Correcting, decided_edges_keep_their_condition) {
  EXPECT_THAT(obstacles(workflow(task("a", "x") + task("b", "x") + task("c", "x"),
                                 "{source: a, target: b, condition: {field: x, operator: \"==\", value: 1}}, {source: "
                                 "b, target: c, condition: {field: x, operator: \"==\", value: 1}}")),
              ElementsAre(HasSubstr("the edge a → b was decided")));
}

TEST_F(Correcting, inputs_of_the_execution_are_fixed_once_they_were_used) {
  EXPECT_THAT(obstacles(workflow(task("a", "x") + task("b", "x") + task("c", "x"), two_edges), Seeds::changed),
              ElementsAre(HasSubstr("the node `a` is completed")));
}

TEST_F(Correcting, changed_mappings_make_a_failed_node_collect_its_inputs_again) {
  const auto made =
      correct(execution_,
              parse(workflow(task("a", "x") + task("b", "{goal}") + task("c", "x"),
                             "{source: a, target: b, data_mapping: {goal: plan}}, {source: b, target: c}")),
              Seeds::same);
  ASSERT_TRUE(made);
  EXPECT_THAT(made->fresh_inputs, ElementsAre(1));
}

TEST_F(Correcting, nodes_and_edges_may_be_added_behind_what_has_run) {
  const auto made = correct(execution_,
                            parse(workflow(task("a", "x") + task("new", "x") + task("b", "x") + task("c", "x"),
                                           "{source: a, target: new}, {source: new, target: c}, " + two_edges)),
                            Seeds::same);
  ASSERT_TRUE(made);
  std::vector<std::string> ids;
  for (const model::Node& node : made->workflow.nodes) ids.push_back(node.id);
  EXPECT_THAT(ids, ElementsAre("a", "b", "c", "new")) << "stored states keep their positions";
  EXPECT_EQ(made->workflow.edges[0].target, "b");
  EXPECT_EQ(made->workflow.edges[2].target, "new");
}

// The decider, with a view that has the corrected workflow.
TEST_F(Correcting, added_edges_of_completed_nodes_are_decided_on_retry) {
  auto made = correct(execution_,
                      parse(workflow(task("a", "x") + task("b", "x") + task("c", "x") + task("new", "x"),
                                     two_edges + ", {source: a, target: new}")),
                      Seeds::same);
  ASSERT_TRUE(made);
  const CompiledWorkflow compiled(made->workflow);
  testing::MemoryExecution corrected(compiled, execution_);
  corrected.on(RetryRequested{.is_corrected = true, .fresh_inputs = made->fresh_inputs});
  EXPECT_EQ(corrected.status_of("a"), NodeStatus::completed);
  EXPECT_EQ(corrected.status_of("b"), NodeStatus::ready);
  EXPECT_EQ(corrected.status_of("new"), NodeStatus::ready);
  EXPECT_EQ(json::encode(corrected.state_of("new").inputs), R"({"text":"A","a.text":"A","plan":"P","a.plan":"P"})");
}

TEST_F(Correcting, fresh_inputs_replace_the_old_ones_on_retry) {
  auto made = correct(execution_,
                      parse(workflow(task("a", "x") + task("b", "{goal}") + task("c", "x"),
                                     "{source: a, target: b, data_mapping: {goal: plan}}, {source: b, target: c}")),
                      Seeds::same);
  ASSERT_TRUE(made);
  const CompiledWorkflow compiled(made->workflow);
  testing::MemoryExecution corrected(compiled, execution_);
  corrected.on(RetryRequested{.is_corrected = true, .fresh_inputs = made->fresh_inputs});
  EXPECT_EQ(json::encode(corrected.state_of("b").inputs), R"({"goal":"P","a.goal":"P"})");
}

}  // namespace
}  // namespace reeve::engine
