#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/execution.h"
#include "spec/workflow_file.h"
#include "tests/support/engine/memory_execution.h"
#include "tests/support/engine/random_workflow.h"

// GRF-7: nodes other than human nodes that wait for a person.
namespace reeve::engine {
namespace {

using model::ExecutionStatus;
using model::NodeStatus;

constexpr const char* side_by_side = R"(
id: w
name: W
entry_point: split
nodes:
  - {id: split, type: parallel, parallel_config: {branches: [a, b], wait_for: all}}
  - {id: a, type: task, task_config: {role: r, task_template: x, retry: {attempts: 3}}}
  - {id: b, type: task, task_config: {role: r, task_template: x}}
  - {id: end, type: merge, merge_config: {wait_for: all, merge_strategy: union}}
edges:
  - {id: e1, source: split, target: a}
  - {id: e2, source: split, target: b}
  - {id: e3, source: a, target: end}
  - {id: e4, source: b, target: end}
config: {max_parallel_nodes: 1}
)";

class ExecutionWaits : public ::testing::Test {
 protected:
  ExecutionWaits() {
    auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("w.yaml", side_by_side));
    if (!parsed) throw std::runtime_error("the workflow is wrong");
    workflow_ = std::make_unique<model::Workflow>(std::move(parsed->workflow));
    compiled_ = std::make_unique<CompiledWorkflow>(*workflow_);
    execution_ = std::make_unique<testing::MemoryExecution>(*compiled_);
    execution_->moment().room = 4;
    execution_->on(ExecutionStarted{});
  }
  graph::NodeIndex index(const char* id) const { return execution_->index(id); }

  std::unique_ptr<model::Workflow> workflow_;
  std::unique_ptr<CompiledWorkflow> compiled_;
  std::unique_ptr<testing::MemoryExecution> execution_;
};

TEST_F(ExecutionWaits, waiting_node_frees_its_slot) {
  EXPECT_EQ(execution_->status_of("b"), NodeStatus::ready) << "one at a time";
  const ExecutionDecision decision = execution_->on(NodeWaits{index("a")});
  EXPECT_EQ(execution_->status_of("a"), NodeStatus::waiting_approval);
  EXPECT_EQ(execution_->status_of("b"), NodeStatus::running) << "at once";
  ASSERT_EQ(decision.actions.size(), 1U);
  EXPECT_EQ(std::get<StartNode>(decision.actions[0]).node, index("b"));
  EXPECT_EQ(execution_->status(), ExecutionStatus::running) << "b does not wait for a person";
  execution_->on(NodeWaits{index("b")});
  EXPECT_EQ(execution_->status(), ExecutionStatus::waiting_approval);
}

TEST_F(ExecutionWaits, resumed_node_keeps_its_attempt) {
  execution_->on(NodeWaits{index("a")});
  const ExecutionDecision decision = execution_->on(NodeGoesOn{index("a")});
  EXPECT_FALSE(decision.is_stale);
  EXPECT_TRUE(decision.actions.empty()) << "nothing is started";
  EXPECT_EQ(execution_->status_of("a"), NodeStatus::running);
  EXPECT_EQ(execution_->state_of("a").attempt, 1);
  EXPECT_EQ(execution_->tally().running, 2) << "it does not wait for a slot";
  execution_->on(NodeFinished{index("a"), base::Value::object()});
  execution_->on(NodeFinished{index("b"), base::Value::object()});
  EXPECT_EQ(execution_->status(), ExecutionStatus::completed);
}

TEST_F(ExecutionWaits, duplicate_and_late_events_change_nothing) {
  EXPECT_TRUE(execution_->on(NodeGoesOn{index("a")}).is_stale);
  EXPECT_TRUE(execution_->on(NodeWaits{index("b")}).is_stale) << "it has not started";
  EXPECT_FALSE(execution_->on(NodeWaits{index("a")}).is_stale);
  EXPECT_TRUE(execution_->on(NodeWaits{index("a")}).is_stale);
  execution_->on(CancelRequested{"enough"});
  EXPECT_TRUE(execution_->on(NodeGoesOn{index("a")}).is_stale);
  EXPECT_EQ(execution_->status_of("a"), NodeStatus::cancelled);
}

TEST_F(ExecutionWaits, waiting_node_can_fail) {
  execution_->on(NodeWaits{index("a")});
  const ExecutionDecision decision =
      execution_->on(NodeFailed{index("a"), model::RetryOn::failed, "rejected", /*is_final=*/true});
  EXPECT_EQ(execution_->status(), ExecutionStatus::failed);
  EXPECT_EQ(execution_->status_of("a"), NodeStatus::failed);
  EXPECT_EQ(execution_->status_of("b"), NodeStatus::cancelled);
  ASSERT_EQ(decision.actions.size(), 1U);
  EXPECT_EQ(std::get<CancelNode>(decision.actions[0]).node, index("b"));
}

// Whatever waits and resumes in between, the end is the same, and the counts stay correct.
TEST(ExecutionWaitsProperty, waiting_does_not_change_the_outcome) {
  constexpr std::uint64_t seeds = 400;
  std::size_t waits = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    base::SeededRandom dice(seed);
    const model::Workflow workflow = testing::make_random_workflow(dice, {.allows_races = false, .fail_fast = false});
    const CompiledWorkflow compiled(workflow);
    std::vector<std::string> outcomes;
    for (const bool has_waits : {false, true}) {
      testing::MemoryExecution execution(compiled);
      base::SeededRandom order(seed + 1);
      execution.moment().room = 2;
      execution.on(ExecutionStarted{});
      for (int step = 0; step < 20'000 && !model::is_over(execution.status()); ++step) {
        const auto live = execution.live_nodes();
        ASSERT_FALSE(live.empty());
        const bool only_people = execution.tally().ready + execution.tally().running == 0;
        ASSERT_EQ(execution.status() == ExecutionStatus::waiting_approval, only_people);
        const auto node = live[order.below(live.size())];
        const NodeStatus status = execution.node(node).status;
        const bool is_human = compiled.graph().node(node).type == model::NodeType::human;
        if (status == NodeStatus::ready) {
          execution.on(NodeBegan{node});
        } else if (status == NodeStatus::waiting_approval && !is_human) {
          ASSERT_FALSE(execution.on(NodeGoesOn{node}).is_stale);
        } else if (status == NodeStatus::running && has_waits && order.below(2) == 0) {
          ASSERT_FALSE(execution.on(NodeWaits{node}).is_stale);
          ++waits;
        } else {
          ASSERT_TRUE(execution.on(NodeGoesOn{node}).is_stale);
          execution.on(NodeFinished{node, base::Value::object()});
        }
      }
      std::string& outcome = outcomes.emplace_back(base::spell(execution.status()));
      for (graph::NodeIndex node = 0; node < compiled.graph().node_count(); ++node) {
        outcome += fmt::format(" {}#{}", base::spell(execution.node(node).status), execution.node(node).iteration);
      }
      for (const auto& [node, times] : execution.begun()) {
        ASSERT_LE(times, execution.node(node).iteration + 1) << "resuming is not a new start";
      }
    }
    ASSERT_EQ(outcomes[0], outcomes[1]);
  }
  EXPECT_GT(waits, seeds);
}

}  // namespace
}  // namespace reeve::engine
