#include "base/limits.h"
#include "engine/decider.h"

namespace reeve::engine {

using model::EdgeState;

namespace {

// How many nodes may end within one decision: more than a workflow has, so that only a loop gets there.
constexpr std::size_t max_settled = 5 * base::limits::workflow_nodes;

}  // namespace

void Decider::note_doubt(NodeIndex node, const ConditionResult& result) {
  if (!result.doubt.empty()) notes_.push_back({Note::Kind::doubtful_condition, node, result.doubt});
}

bool Decider::is_taken(EdgeIndex index) {
  const NodeIndex source = graph_.source(index);
  const model::Edge& words = graph_.edge(index);
  const Value& outputs = state(source).outputs;
  if (words.condition) {
    model::Condition condition = *words.condition;
    const std::string own_name = graph_.node(source).id + ".";
    if (condition.field.starts_with(own_name) && find_field(outputs, condition.field) == nullptr) {
      condition.field.erase(0, own_name.size());
    }
    const ConditionResult result = evaluate(condition, outputs);
    note_doubt(source, result);
    return result.holds;
  }
  const auto& branch = graph_.node(source).branch_config;
  if (!branch) return true;
  const Value* outcome = outputs.find("branch_outcome");
  const std::string chosen = outcome != nullptr && outcome->as_string() != nullptr ? *outcome->as_string() : "";
  return (chosen == "on_true" && words.target == branch->on_true) ||
         (chosen == "on_false" && words.target == branch->on_false);
}

void Decider::propagate() {
  for (std::size_t done = 0; !ended_.empty() && !model::is_over(status_); ++done) {
    // A loop of nodes that need no work would repeat within one decision up to its limit.
    if (done >= max_settled) {
      return end(ExecutionStatus::failed,
                 "a loop repeats without doing any work: it needs a task, a gate or a human node");
    }
    const NodeIndex node = ended_.front();
    ended_.pop_front();
    settle(node);
  }
}

void Decider::settle(NodeIndex node) {
  if (state(node).status == NodeStatus::completed && try_loops(node)) return;
  decide_edges(node);
}

void Decider::decide_edges(NodeIndex node) {
  const bool is_completed = state(node).status == NodeStatus::completed;
  std::vector<NodeIndex> targets;
  for (const EdgeIndex outgoing : graph_.outgoing(node)) {
    if (!graph_.is_loop(outgoing)) targets.push_back(graph_.target(outgoing));
  }
  view_.expect(targets);
  for (const EdgeIndex outgoing : graph_.outgoing(node)) {
    if (graph_.is_loop(outgoing) || edge(outgoing).state != EdgeState::open) continue;
    const bool taken = is_completed && is_taken(outgoing);
    edge(outgoing) = {taken ? EdgeState::taken : EdgeState::dead, taken ? ++tally_.edges_taken : 0};
    NodeState& target = state(graph_.target(outgoing));
    ++target.edges_decided;
    target.edges_taken += taken ? 1 : 0;
    consider(graph_.target(outgoing));
  }
}

void Decider::consider(NodeIndex node) {
  if (state(node).status != NodeStatus::pending) return;
  const bool is_decided = state(node).edges_decided == workflow_.awaited(node);
  const bool is_taken = state(node).edges_taken > 0;
  if (is_taken && (is_decided || workflow_.wait_for(node) == model::WaitFor::any)) {
    make_ready(node, {});
  } else if (is_decided && !is_taken) {
    move(node, NodeStatus::skipped);
    ended_.push_back(node);
  }
}

}  // namespace reeve::engine
