#include "view/flow_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace reeve::view {
namespace {

using model::NodeStatus;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr base::WallTime now{std::chrono::seconds(1'800'000'000)};

// A chain of tasks n0, n1, … with these statuses.
FlowPicture chain(const std::vector<NodeStatus>& statuses) {
  model::Workflow workflow;
  workflow.id = workflow.name = "chain";
  workflow.entry_point = "n0";
  FlowPicture picture;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    model::Node node;
    node.id = fmt::format("n{}", i);
    node.task_config = model::TaskConfig{.role = "coder"};
    workflow.nodes.push_back(node);
    if (i > 0) {
      workflow.edges.push_back({.id = fmt::format("e{}", i), .source = fmt::format("n{}", i - 1), .target = node.id});
    }
    model::NodeExecution state;
    state.node_id = node.id;
    state.status = statuses[i];
    if (statuses[i] != NodeStatus::pending) state.started_at = now - std::chrono::seconds(12);
    picture.execution.nodes.push_back(state);
  }
  picture.execution.execution_id = base::ExecutionId(9);
  picture.execution.workflow_name = "Chain";
  picture.execution.started_at = now - std::chrono::seconds(72);
  picture.workflow = std::make_shared<const model::Workflow>(std::move(workflow));
  return picture;
}

TEST(FlowTree, skipped_nodes_do_not_count) {
  const FlowPicture picture =
      chain({NodeStatus::completed, NodeStatus::skipped, NodeStatus::running, NodeStatus::pending});
  EXPECT_THAT(flow_tree(picture, {}, now, {24, 80}).front(), HasSubstr("1 of 3 nodes"));
}

TEST(FlowTree, shows_durations_and_what_each_node_waits_for) {
  FlowPicture picture = chain({NodeStatus::completed, NodeStatus::running, NodeStatus::pending});
  picture.execution.nodes[0].completed_at = now - std::chrono::seconds(9);
  picture.execution.nodes[1].attempt = 2;
  picture.execution.nodes[1].tool_run_id = base::RunId(7);
  picture.notes["n1"] = "45 % compiling";
  EXPECT_THAT(
      flow_tree(picture, {}, now, {24, 80}),
      ElementsAre("EX-9  Chain  ● running  1 of 3 nodes  1m12s", "✓ n0  task coder       3s",
                  "● n1  task coder      12s  ↻2  45 % compiling  TR-7", "○ n2  task coder           after n1"));
  EXPECT_THAT(flow_tree(picture, {.color = false, .ascii = true}, now, {24, 80}).at(2), StartsWith("> n1"));
}

TEST(FlowTree, subgraph_is_indented_under_its_node) {
  FlowPicture picture = chain({NodeStatus::running, NodeStatus::pending});
  picture.children.emplace("n0", chain({NodeStatus::running}));
  const auto lines = flow_tree(picture, {}, now, {24, 80});
  ASSERT_EQ(lines.size(), 4);
  EXPECT_THAT(lines[0], HasSubstr("0 of 3 nodes"));
  EXPECT_THAT(lines[2], StartsWith("  ● n0"));
  EXPECT_THAT(lines[3], StartsWith("○ n1"));
}

// UX: nothing is cut while there are columns, and nothing is wider than the terminal.
TEST(FlowTree, names_use_the_available_columns) {
  FlowPicture picture = chain({NodeStatus::waiting_approval});
  picture.execution.status = model::ExecutionStatus::waiting_approval;
  picture.execution.workflow_name = "A chain with a long name";
  model::Workflow workflow = *picture.workflow;
  workflow.nodes[0].task_config->role = std::string(40, 'r');
  picture.workflow = std::make_shared<const model::Workflow>(workflow);
  EXPECT_THAT(flow_tree(picture, {}, now, {24, 120}).at(1), HasSubstr(std::string(40, 'r')));
  for (const std::size_t columns : {20U, 30U, 40U, 50U, 80U}) {
    for (const std::string& line : flow_tree(picture, {}, now, {24, columns})) {
      EXPECT_LE(base::display_width(line), columns) << line;
    }
  }
  EXPECT_EQ(flow_tree(picture, {}, now, {24, 40}).at(0), "EX-9  A chain with …  ◆ waiting_approval");
}

// What is the least news is counted where not all fit.
TEST(FlowTree, overflowing_nodes_are_counted_completed_first) {
  std::vector<NodeStatus> statuses(40, NodeStatus::completed);
  statuses.push_back(NodeStatus::running);
  statuses.insert(statuses.end(), 40, NodeStatus::pending);
  const auto lines = flow_tree(chain(statuses), {}, now, {10, 80});
  ASSERT_EQ(lines.size(), 10);
  EXPECT_THAT(lines[1], AllOf(HasSubstr("✓ 40 completed"), HasSubstr("○ 33 pending")));
  EXPECT_THAT(lines[2], StartsWith("● n40"));
  const auto few = flow_tree(chain(std::vector<NodeStatus>(30, NodeStatus::running)), {}, now, {8, 80});
  EXPECT_EQ(few.size(), 8);
}

// LOG-3, and nothing is wider than the terminal.
TEST(FlowTree, lines_are_escaped_and_fit_the_width) {
  FlowPicture picture = chain({NodeStatus::failed, NodeStatus::running});
  picture.execution.workflow_name = std::string(200, 'w') + "\x1b[2J";
  picture.execution.label = "l\n\x1b]0;x\x07";
  picture.execution.nodes[0].error = "bad\r\n\x1b[31m" + std::string(300, 'e');
  picture.notes["n1"] = "\x1b[5m" + std::string(300, 'p');
  for (const std::size_t columns : {20UL, 40UL, 60UL, 80UL, 200UL}) {
    for (const std::string& line : flow_tree(picture, {}, now, {24, columns})) {
      EXPECT_EQ(line.find('\x1b'), std::string::npos);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      if (columns >= 60) EXPECT_LE(base::display_width(line), columns) << line;
    }
  }
}

TEST(FlowTree, pending_retry_shows_its_delay) {
  FlowPicture picture = chain({NodeStatus::ready});
  picture.execution.nodes[0].not_before = now + std::chrono::seconds(5);
  EXPECT_THAT(flow_tree(picture, {}, now, {24, 80}).at(1), HasSubstr("retrying in 5s"));
  picture.execution.nodes[0].not_before.reset();
  EXPECT_THAT(flow_tree(picture, {}, now, {24, 80}).at(1),
              AllOf(HasSubstr("waiting for its turn"), Not(HasSubstr("12s"))));
}

}  // namespace
}  // namespace reeve::view
