#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/execution.h"
#include "graph/analysis.h"
#include "json/describe.h"
#include "json/encode.h"
#include "spec/workflow_file.h"
#include "tests/support/engine/memory_execution.h"
#include "tests/support/engine/random_workflow.h"
#include "view/problem_text.h"

// Properties over random workflows. The seed of a failure is printed; the same seed gives the same workflow and run.
namespace reeve::engine {
namespace {

using base::Value;
using model::NodeStatus;
using model::NodeType;

constexpr std::uint64_t seeds = 1'500;
constexpr int max_steps = 20'000;

struct Habits {
  // One in this many nodes fails, and one in this many gates and people rejects; 0 for none.
  std::uint64_t fails = 0;
  std::uint64_t says_no = 3;
};

// A node's result depends only on the node and its iteration, never on timing.
std::uint64_t fate(std::uint64_t seed, const std::string& id, int iteration, int attempt, std::uint64_t below) {
  const std::uint64_t mixed = std::hash<std::string>{}(fmt::format("{}/{}/{}/{}", seed, id, iteration, attempt));
  return base::SeededRandom(mixed).below(below);
}

// Runs an execution to its end, picking any live node next.
void go_on(testing::MemoryExecution& execution, std::uint64_t seed, base::Random& order, const Habits& habits) {
  for (int step = 0; step < max_steps && !model::is_over(execution.status()); ++step) {
    const auto live = execution.live_nodes();
    ASSERT_FALSE(live.empty()) << "an unfinished execution has live nodes";
    const auto node = live[order.below(live.size())];
    const NodeState state = execution.node(node);
    const model::Node& words = execution.workflow().graph().node(node);
    if (state.status == NodeStatus::ready) {
      const bool is_full = execution.tally().running >= execution.workflow().workflow().config.max_parallel_nodes;
      ASSERT_EQ(execution.on(NodeBegan{node}).is_stale, is_full);
      continue;
    }
    ASSERT_LE(execution.tally().running, execution.workflow().workflow().config.max_parallel_nodes);
    // One attempt may fail and another succeed; the final result is the same.
    const auto draw = [&](std::uint64_t below) { return fate(seed, words.id, state.iteration, 0, below); };
    const bool fails = habits.fails > 0 && fate(seed, words.id, state.iteration, state.attempt, habits.fails) == 0;
    if (fails && state.status == NodeStatus::running) {
      execution.on(NodeFailed{node, model::RetryOn::failed, "broken"});
      continue;
    }
    const bool may_say_no = words.type == NodeType::gate || words.type == NodeType::human;
    const bool said_yes = !may_say_no || habits.says_no == 0 || draw(habits.says_no) != 0;
    Value outputs = Value::object();
    outputs.set("x", Value::integer(static_cast<std::int64_t>(draw(10))));
    outputs.set("passed", Value::boolean(said_yes));
    execution.on(NodeFinished{node, outputs, said_yes});
  }
  ASSERT_TRUE(model::is_over(execution.status())) << "it always ends";
}

void run_to_end(testing::MemoryExecution& execution, std::uint64_t seed, base::Random& order, const Habits& habits) {
  // Sometimes the deciding worker has free slots.
  execution.moment().room = order.below(3);
  execution.on(ExecutionStarted{});
  go_on(execution, seed, order, habits);
}

std::string describe(const testing::MemoryExecution& execution) {
  std::string text = std::string(base::spell(execution.status())) + " " + execution.reason() + "\n";
  for (graph::NodeIndex node = 0; node < execution.workflow().graph().node_count(); ++node) {
    const NodeState state = execution.node(node);
    text += fmt::format("{} {} #{} {}\n", execution.workflow().graph().node(node).id, base::spell(state.status),
                        state.iteration, json::encode_canonical(state.outputs));
  }
  return text;
}

TEST(ExecutionProperty, random_workflows_are_valid_ones) {
  std::size_t nodes = 0;
  std::map<NodeType, std::size_t> types;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    base::SeededRandom random(seed);
    const model::Workflow workflow = testing::make_random_workflow(random, {});
    nodes += workflow.nodes.size();
    for (const model::Node& node : workflow.nodes) ++types[node.type];
    const std::string text = json::encode(json::to_value(workflow));
    const auto parsed = spec::parse_workflow(std::make_shared<const spec::Source>("random", text));
    ASSERT_TRUE(parsed) << "seed " << seed << "\n" << view::problems_text(parsed.error(), {});
    ASSERT_EQ(parsed->workflow.nodes.size(), workflow.nodes.size());
  }
  // Ensures that the generator covers every node type.
  EXPECT_GE(nodes / seeds, 10);
  for (const NodeType type :
       {NodeType::task, NodeType::gate, NodeType::branch, NodeType::merge, NodeType::parallel, NodeType::human}) {
    EXPECT_GE(types[type] * 50, nodes) << base::spell(type) << " is too rare";
  }
}

TEST(ExecutionProperty, every_execution_and_node_ends) {
  std::map<model::ExecutionStatus, int> ends;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    base::SeededRandom random(seed);
    const model::Workflow workflow =
        testing::make_random_workflow(random, {.depth = static_cast<int>(2 + seed % 3), .fail_fast = seed % 2 == 0});
    const CompiledWorkflow compiled(workflow);
    testing::MemoryExecution execution(compiled);
    run_to_end(execution, seed, random, {.fails = seed % 3 == 0 ? 12U : 0U});
    if (HasFatalFailure() || HasFailure()) return;
    ++ends[execution.status()];
    EXPECT_TRUE(execution.live_nodes().empty());
    for (graph::NodeIndex node = 0; node < compiled.graph().node_count(); ++node) {
      ASSERT_TRUE(is_over(execution.node(node).status)) << workflow.nodes[node].id << " is still pending";
    }
    for (graph::EdgeIndex edge = 0; edge < workflow.edges.size(); ++edge) {
      if (!workflow.edges[edge].is_loop_edge) continue;
      ASSERT_LE(execution.loop_taken(edge), compiled.loop_limit(edge)) << "counters are bounded";
    }
  }
  EXPECT_GT(ends[model::ExecutionStatus::completed], 20);
  EXPECT_GT(ends[model::ExecutionStatus::failed], 20);
}

TEST(ExecutionProperty, no_node_runs_twice_without_a_loop_or_a_retry) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    base::SeededRandom random(seed);
    const model::Workflow workflow = testing::make_random_workflow(random, {});
    const CompiledWorkflow compiled(workflow);
    testing::MemoryExecution execution(compiled);
    run_to_end(execution, seed, random, {});
    for (const auto& [node, times] : execution.begun()) {
      ASSERT_LE(times, execution.node(node).iteration + 1) << workflow.nodes[node].id << ", seed " << seed;
    }
  }
}

// Without races and fail_fast, the order of work does not affect the result.
TEST(ExecutionProperty, completion_order_does_not_change_the_outcome) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    base::SeededRandom random(seed);
    const model::Workflow workflow = testing::make_random_workflow(random, {.allows_races = false, .fail_fast = false});
    const CompiledWorkflow compiled(workflow);
    std::string expected;
    for (std::uint64_t order_seed = 0; order_seed < 4; ++order_seed) {
      testing::MemoryExecution execution(compiled);
      base::SeededRandom order(order_seed);
      run_to_end(execution, seed, order, {.fails = 15});
      // The reason may depend on which node failed last; the failure itself may not.
      std::string outcome = describe(execution);
      outcome.erase(0, outcome.find('\n'));
      if (expected.empty()) expected = outcome;
      ASSERT_EQ(outcome, expected) << "seed " << seed << ", order " << order_seed;
    }
  }
}

// With fail_fast, where nothing continues after a failure: retried until nothing fails, it reaches the end that it
// would have had, and no completed node runs again.
TEST(ExecutionProperty, retried_execution_reaches_the_same_outcome) {
  int retried = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    base::SeededRandom random(seed);
    const model::Workflow workflow = testing::make_random_workflow(random, {.allows_races = false});
    const CompiledWorkflow compiled(workflow);
    testing::MemoryExecution without(compiled);
    base::SeededRandom order(seed);
    run_to_end(without, seed, order, {.fails = 0, .says_no = 0});
    testing::MemoryExecution with(compiled);
    run_to_end(with, seed, order, {.fails = 6, .says_no = 0});
    for (int round = 0; round < 50 && with.tally().failed > 0; ++round) {
      if (with.on(RetryRequested{}).is_stale) break;
      ++retried;
      // Nothing fails from the third round on.
      go_on(with, seed, order, {.fails = round < 2 ? 6U : 0U, .says_no = 0});
    }
    ASSERT_EQ(with.tally().failed, 0) << "seed " << seed;
    for (graph::NodeIndex node = 0; node < compiled.graph().node_count(); ++node) {
      const NodeState expected = without.node(node);
      ASSERT_EQ(with.node(node).status, expected.status) << workflow.nodes[node].id << ", seed " << seed;
      ASSERT_EQ(with.node(node).iteration, expected.iteration) << workflow.nodes[node].id << ", seed " << seed;
    }
  }
  EXPECT_GT(retried, 100);
}

// The same seed replays to the same decisions, byte for byte.
TEST(ExecutionProperty, same_seed_gives_the_same_decisions) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      base::SeededRandom random(seed);
      const model::Workflow workflow = testing::make_random_workflow(random, {});
      const CompiledWorkflow compiled(workflow);
      testing::MemoryExecution execution(compiled);
      run_to_end(execution, seed, random, {.fails = 10});
      if (round == 0) first = describe(execution);
      ASSERT_EQ(describe(execution), first);
    }
  }
}

}  // namespace
}  // namespace reeve::engine
