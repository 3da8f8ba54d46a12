#include <algorithm>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/execution.h"
#include "graph/analysis.h"
#include "tests/support/engine/memory_execution.h"
#include "tests/support/engine/random_workflow.h"

// Properties over graphs and schedules that shrink: a failure is reported as the smallest workflow and the shortest
// order of events that still fails.
namespace reeve::engine {

struct Story {
  std::vector<std::uint8_t> shape;
  std::vector<std::uint8_t> order;
  std::vector<std::uint8_t> fates;

  friend std::ostream& operator<<(std::ostream& out, const Story& story) {
    for (const auto* bytes : {&story.shape, &story.order, &story.fates}) {
      out << "{";
      for (const std::uint8_t byte : *bytes) out << int{byte} << ", ";
      out << "} ";
    }
    return out;
  }
};

}  // namespace reeve::engine

namespace rc {

template <>
struct Arbitrary<reeve::engine::Story> {
  static Gen<reeve::engine::Story> arbitrary() {
    const auto bytes = [](std::size_t most) {
      return gen::resize(static_cast<int>(most),
                         gen::container<std::vector<std::uint8_t>>(gen::arbitrary<std::uint8_t>()));
    };
    return gen::build<reeve::engine::Story>(gen::set(&reeve::engine::Story::shape, bytes(120)),
                                            gen::set(&reeve::engine::Story::order, bytes(200)),
                                            gen::set(&reeve::engine::Story::fates, bytes(200)));
  }
};

}  // namespace rc

namespace reeve::engine {
namespace {

using base::Value;
using model::NodeStatus;
using model::NodeType;

// Recorded randomness: bytes first, then zeros. Fewer and smaller bytes are a simpler case.
class ScriptedRandom final : public base::Random {
 public:
  explicit ScriptedRandom(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}
  void fill(std::span<std::byte> bytes) override {
    for (std::byte& byte : bytes) byte = std::byte{0};
    // Uses one byte of script per draw, whatever its width: the lowest.
    if (!bytes.empty() && next_ < bytes_.size()) bytes.front() = std::byte{bytes_[next_++]};
  }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t next_ = 0;
};

// Runs the script to its end and checks after every event.
void live_through(testing::MemoryExecution& execution, const Story& story, bool may_fail) {
  ScriptedRandom order(story.order);
  ScriptedRandom fates(story.fates);
  const std::int64_t most = execution.workflow().workflow().config.max_parallel_nodes;
  execution.moment().room = order.below(4);
  execution.on(ExecutionStarted{});
  for (int step = 0; !model::is_over(execution.status()); ++step) {
    RC_ASSERT(step < 20'000);
    const auto live = execution.live_nodes();
    RC_ASSERT(!live.empty());
    const auto node = live[order.below(live.size())];
    if (execution.node(node).status == NodeStatus::ready) {
      // With an empty script the same node is picked repeatedly; free slots let the others continue.
      const bool is_full = execution.tally().running >= most;
      if (!is_full) {
        RC_ASSERT(!execution.on(NodeBegan{node}).is_stale);
        continue;
      }
      const auto running =
          std::ranges::find_if(live, [&](auto other) { return execution.node(other).status == NodeStatus::running; });
      RC_ASSERT(running != live.end());
      execution.on(NodeFinished{*running, Value::object()});
      continue;
    }
    RC_ASSERT(execution.tally().running <= most);
    const NodeType type = execution.workflow().graph().node(node).type;
    const bool said_yes = (type != NodeType::gate && type != NodeType::human) || fates.below(3) != 2;
    if (may_fail && type == NodeType::task && fates.below(12) == 11) {
      execution.on(NodeFailed{node, model::RetryOn::failed, "broken"});
      continue;
    }
    Value outputs = Value::object();
    outputs.set("x", Value::integer(static_cast<std::int64_t>(fates.below(10))));
    outputs.set("passed", Value::boolean(said_yes));
    execution.on(NodeFinished{node, std::move(outputs), said_yes});
  }
}

// GRF-4, GRF-5, GRF-7: the execution always ends, and every node with it; counters stay within their limits, and
// unreached nodes are skipped, never pending.
RC_GTEST_PROP(ExecutionStory, every_node_ends_with_the_execution,
              (const Story& story, bool fail_fast, bool allows_races)) {
  ScriptedRandom shape(story.shape);
  const model::Workflow workflow =
      testing::make_random_workflow(shape, {.depth = 4, .allows_races = allows_races, .fail_fast = fail_fast});
  RC_CLASSIFY(workflow.nodes.size() >= 20, "20 nodes or more");
  const CompiledWorkflow compiled(workflow);
  testing::MemoryExecution execution(compiled);
  live_through(execution, story, true);
  std::vector<bool> was_reached(workflow.nodes.size(), false);
  was_reached[compiled.entry()] = true;
  for (graph::EdgeIndex edge = 0; edge < workflow.edges.size(); ++edge) {
    RC_ASSERT(execution.loop_taken(edge) <= compiled.loop_limit(edge));
    if (execution.edge(edge).state == model::EdgeState::taken) was_reached[compiled.graph().target(edge)] = true;
  }
  const bool ran_out = execution.status() == model::ExecutionStatus::completed && !fail_fast;
  for (graph::NodeIndex node = 0; node < compiled.graph().node_count(); ++node) {
    RC_ASSERT(is_over(execution.node(node).status));
    if (ran_out && !was_reached[node]) RC_ASSERT(execution.node(node).status == NodeStatus::skipped);
  }
  RC_ASSERT(!::testing::Test::HasFailure());
}

// Without races and fail_fast, the order of concurrent completions does not affect the result.
RC_GTEST_PROP(ExecutionStory, completion_order_does_not_change_the_outcome,
              (const Story& story, const std::vector<std::uint8_t>& other_order)) {
  ScriptedRandom shape(story.shape);
  const model::Workflow workflow =
      testing::make_random_workflow(shape, {.depth = 4, .allows_races = false, .fail_fast = false});
  const CompiledWorkflow compiled(workflow);
  // A node's result depends only on the node.
  const auto run = [&](const std::vector<std::uint8_t>& bytes) {
    testing::MemoryExecution execution(compiled);
    ScriptedRandom order(bytes);
    execution.on(ExecutionStarted{});
    for (int step = 0; !model::is_over(execution.status()); ++step) {
      RC_ASSERT(step < 20'000);
      auto live = execution.live_nodes();
      std::rotate(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(order.below(live.size())), live.end());
      for (const auto node : live) {
        const NodeState state = execution.node(node);
        if (state.status == NodeStatus::ready) {
          if (execution.on(NodeBegan{node}).is_stale) continue;
          break;
        }
        const std::size_t fate = (node * 31 + static_cast<std::size_t>(state.iteration) * 7 + story.fates.size()) % 11;
        Value outputs = Value::object();
        outputs.set("x", Value::integer(static_cast<std::int64_t>(fate)));
        const bool said_yes = state.status == NodeStatus::waiting_approval ? fate != 3 : true;
        execution.on(NodeFinished{node, std::move(outputs), said_yes});
        break;
      }
    }
    std::vector<std::pair<NodeStatus, int>> ends;
    for (graph::NodeIndex node = 0; node < compiled.graph().node_count(); ++node) {
      ends.emplace_back(execution.node(node).status, execution.node(node).iteration);
    }
    return ends;
  };
  RC_ASSERT(run(story.order) == run(other_order));
}

}  // namespace
}  // namespace reeve::engine
