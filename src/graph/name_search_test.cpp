#include "graph/name_search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::graph {
namespace {

using model::NodeType;
using Optional = NameSearch::Optional;
using ::testing::ElementsAre;

model::Node node(std::string id, NodeType type) {
  model::Node made;
  made.id = std::move(id);
  made.type = type;
  if (type == NodeType::task) made.task_config = model::TaskConfig{.role = "coder"};
  if (type == NodeType::subgraph) made.subgraph_config.emplace();
  return made;
}

model::Edge edge(std::string source, std::string target, std::map<std::string, std::string> mapping = {}) {
  model::Edge made;
  made.source = std::move(source);
  made.target = std::move(target);
  made.data_mapping = std::move(mapping);
  return made;
}

model::WorkflowInput input(std::string name) {
  model::WorkflowInput made;
  made.name = std::move(name);
  return made;
}

// plan (a human node) → test (a gate) → check (a branch) → fix (a task)
model::Workflow make_workflow() {
  model::Workflow workflow;
  workflow.entry_point = "plan";
  workflow.inputs = {input("goal")};
  workflow.nodes = {node("plan", NodeType::human), node("test", NodeType::gate), node("check", NodeType::branch),
                    node("fix", NodeType::task), node("report", NodeType::task)};
  workflow.edges = {edge("plan", "test"), edge("test", "check"), edge("check", "fix"), edge("fix", "report")};
  return workflow;
}

bool arrives(const model::Workflow& workflow, std::string_view node, std::string_view name) {
  const Graph graph(workflow);
  return NameSearch(graph).can_arrive(*graph.find(node), name);
}

// GRF-8, GRF-9
TEST(NameSearch, knows_what_people_gates_and_branches_deliver) {
  const model::Workflow workflow = make_workflow();
  EXPECT_TRUE(arrives(workflow, "plan", "goal"));
  EXPECT_FALSE(arrives(workflow, "plan", "gaol"));
  for (const char* name : {"goal", "plan.goal", "comment", "plan.comment"})
    EXPECT_TRUE(arrives(workflow, "test", name));
  EXPECT_FALSE(arrives(workflow, "test", "plan.text"));
  for (const char* name : {"output", "test.output", "branch_outcome", "check.output", "check.branch_outcome"}) {
    EXPECT_TRUE(arrives(workflow, "fix", name)) << name;
  }
  // A gate does not pass its inputs on.
  for (const char* name : {"goal", "plan.goal", "comment", "test.text", "output.lines", "test"}) {
    EXPECT_FALSE(arrives(workflow, "fix", name)) << name;
  }
}

TEST(NameSearch, leaves_open_what_tasks_and_subgraphs_report) {
  model::Workflow workflow = make_workflow();
  EXPECT_TRUE(arrives(workflow, "report", "anything.at.all"));
  workflow.nodes[1] = node("test", NodeType::subgraph);
  EXPECT_TRUE(arrives(workflow, "fix", "anything"));
  workflow.nodes[1].subgraph_config->output_mapping = {{"result", "text"}};
  EXPECT_TRUE(arrives(workflow, "fix", "result"));
  EXPECT_TRUE(arrives(workflow, "fix", "result.lines")) << "a mapped value may be an object";
  EXPECT_FALSE(arrives(workflow, "fix", "text"));
}

TEST(NameSearch, leaves_undeclared_inputs_open) {
  model::Workflow workflow = make_workflow();
  workflow.inputs.reset();
  EXPECT_TRUE(arrives(workflow, "test", "whatever"));
}

TEST(NameSearch, follows_data_mappings_and_loop_edges) {
  model::Workflow workflow = make_workflow();
  workflow.edges[3] = edge("fix", "report", {{"summary", "text"}});
  EXPECT_TRUE(arrives(workflow, "report", "summary"));
  EXPECT_TRUE(arrives(workflow, "report", "fix.summary"));
  EXPECT_FALSE(arrives(workflow, "report", "text"));
  workflow.edges.push_back(edge("check", "report"));
  workflow.edges.back().is_loop_edge = true;
  EXPECT_TRUE(arrives(workflow, "report", "exit_code"));
}

TEST(NameSearch, an_optional_input_may_be_missing) {
  model::Workflow workflow = make_workflow();
  workflow.inputs->front().required = false;
  const Graph graph(workflow);
  NameSearch search(graph);
  EXPECT_TRUE(search.can_arrive(0, "goal", Optional::counted));
  EXPECT_FALSE(search.can_arrive(0, "goal", Optional::ignored));
}

TEST(NameSearch, lists_names_nearest_first) {
  const model::Workflow workflow = make_workflow();
  const Graph graph(workflow);
  EXPECT_THAT(NameSearch(graph).list(1, 3), ElementsAre("approved", "chosen_value", "comment"));
}

// Bounded: what would take too long counts as unknown.
TEST(NameSearch, long_chains_are_cheap) {
  model::Workflow workflow;
  workflow.inputs.emplace();
  workflow.entry_point = "n0";
  for (int i = 0; i < 20'000; ++i) {
    workflow.nodes.push_back(node(fmt::format("n{}", i), NodeType::human));
    if (i > 0) workflow.edges.push_back(edge(fmt::format("n{}", i - 1), fmt::format("n{}", i)));
  }
  const Graph graph(workflow);
  NameSearch search(graph);
  EXPECT_FALSE(search.can_arrive(19'999, "nothing"));
  for (int i = 0; i < 1'000; ++i) search.can_arrive(19'999, "nothing");
  EXPECT_TRUE(search.can_arrive(19'999, "nothing")) << "no longer looked for";
}

}  // namespace
}  // namespace reeve::graph
