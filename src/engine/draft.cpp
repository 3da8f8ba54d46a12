#include "engine/draft.h"

namespace reeve::engine {

using graph::EdgeIndex;
using graph::NodeIndex;
using model::NodeStatus;

namespace {

bool is_same(const Draft::Touched& touched) {
  const NodeState& before = touched.before;
  const NodeState& now = touched.now;
  return touched.reset == NodeReset::none && before.status == now.status && before.iteration == now.iteration &&
         before.attempt == now.attempt && before.edges_decided == now.edges_decided &&
         before.edges_taken == now.edges_taken && before.not_before == now.not_before;
}

NodeChange make_change(NodeIndex node, const Draft::Touched& touched) {
  const NodeState& before = touched.before;
  const NodeState& now = touched.now;
  const bool is_reset = touched.reset != NodeReset::none;
  NodeChange change{.node = node,
                    .from = before.status,
                    .to = now.status,
                    .attempt = now.attempt,
                    .iteration = now.iteration,
                    .edges_decided = now.edges_decided,
                    .edges_taken = now.edges_taken};
  if (!now.inputs.is_null() && (now.inputs != before.inputs || is_reset)) change.inputs = now.inputs;
  if (!now.outputs.is_null() && (now.outputs != before.outputs || is_reset)) change.outputs = now.outputs;
  change.error = touched.error;
  change.not_before = now.not_before;
  change.reset = touched.reset;
  return change;
}

}  // namespace

Draft::Touched& Draft::touch(NodeIndex node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) return found->second;
  const NodeState& state = view_.node(node);
  return nodes_.emplace(node, Touched{state, state, {}, NodeReset::none}).first->second;
}

EdgeView& Draft::edge(EdgeIndex edge) {
  const auto found = edges_.find(edge);
  return found != edges_.end() ? found->second : edges_.emplace(edge, view_.edge(edge)).first->second;
}

std::int64_t& Draft::loop(EdgeIndex edge) {
  const auto found = loops_.find(edge);
  return found != loops_.end() ? found->second : loops_.emplace(edge, view_.loop_taken(edge)).first->second;
}

std::vector<NodeIndex> Draft::touched_nodes() const {
  std::vector<NodeIndex> nodes;
  for (const auto& [node, _] : nodes_) nodes.push_back(node);
  return nodes;
}

void Draft::count(NodeIndex node, NodeStatus status, std::int64_t by) {
  if (status == NodeStatus::ready) tally_.ready += by;
  if (status == NodeStatus::running) tally_.running += by;
  if (status == NodeStatus::waiting_approval) tally_.waiting += by;
  if (status == NodeStatus::failed) tally_.failed += by;
  if (status == NodeStatus::completed && view_.workflow().is_exit(node)) tally_.exits_completed += by;
}

void Draft::move(NodeIndex node, NodeStatus to) {
  NodeState& now = touch(node).now;
  count(node, now.status, -1);
  now.status = to;
  count(node, to, +1);
}

ExecutionDecision Draft::collect(model::ExecutionStatus status, const std::optional<std::string>& reason) const {
  ExecutionDecision decision;
  for (const auto& [node, touched] : nodes_) {
    if (!is_same(touched)) decision.nodes.push_back(make_change(node, touched));
  }
  for (const auto& [index, now] : edges_) {
    const EdgeView before = view_.edge(index);
    if (before.state != now.state || before.order != now.order) decision.edges.push_back({index, now.state, now.order});
  }
  for (const auto& [index, taken] : loops_) {
    if (view_.loop_taken(index) != taken) decision.loops.push_back({index, taken});
  }
  if (status != view_.status() || tally_ != view_.tally()) {
    decision.execution = ExecutionChange{view_.status(), status, reason, tally_};
  }
  return decision;
}

}  // namespace reeve::engine
