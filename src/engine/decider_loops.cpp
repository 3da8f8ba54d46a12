#include <algorithm>
#include <deque>
#include <ranges>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/decider.h"

namespace reeve::engine {

using model::EdgeState;
using model::NodeType;

bool Decider::handle(const RetryRequested& event) {
  const bool has_failed = status_ == ExecutionStatus::failed && tally_.failed > 0;
  const bool was_cut_short = event.is_part && status_ == ExecutionStatus::cancelled;
  if (!has_failed && !was_cut_short) return false;
  status_ = ExecutionStatus::running;
  const auto all = std::views::iota(NodeIndex{0}, graph_.node_count());
  view_.expect(std::vector<NodeIndex>(all.begin(), all.end()));
  std::vector<NodeIndex> pending;
  bool goes_on = false;
  for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
    const NodeStatus status = view_.node(node).status;
    const bool was_cut_off = status == NodeStatus::cancelled && !was_given_up(node);
    if (status != NodeStatus::failed && !was_cut_off) continue;
    goes_on = true;
    touch(node).reset = NodeReset::by_retry;
    touch(node).error.reset();
    reopen(node);
    // A node that had started restarts with the same inputs; the others wait for their edges again.
    const bool collects_again = std::ranges::find(event.fresh_inputs, node) != event.fresh_inputs.end();
    if (!state(node).inputs.is_null() && !collects_again) {
      restart(node);
    } else {
      state(node).inputs = Value();
      move(node, NodeStatus::pending);
      pending.push_back(node);
    }
  }
  if (event.is_corrected) settle_added_edges();
  for (const NodeIndex node : pending) {
    if (state(node).status != NodeStatus::pending) continue;
    if (node == workflow_.entry()) {
      make_ready(node, {});
    } else if (state(node).edges_decided > 0) {
      consider(node);
    }
  }
  return goes_on;
}

void Decider::settle_added_edges() {
  for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
    const bool has_open = std::ranges::any_of(graph_.outgoing(node), [&](EdgeIndex index) {
      return !graph_.is_loop(index) && edge(index).state == EdgeState::open;
    });
    if (has_open && model::is_over(state(node).status)) decide_edges(node);
  }
}

bool Decider::was_given_up(NodeIndex node) {
  const auto outgoing = graph_.outgoing(node);
  return !outgoing.empty() && std::ranges::all_of(outgoing, [&](EdgeIndex index) {
    return graph_.is_loop(index) || view_.edge(index).state != EdgeState::open;
  });
}

void Decider::restart(NodeIndex node) {
  if (graph_.node(node).type == NodeType::human) return ask_person(node);
  move(node, NodeStatus::ready);
  newly_ready_.push_back(node);
}

bool Decider::try_loops(NodeIndex node) {
  for (const EdgeIndex outgoing : graph_.outgoing(node)) {
    if (!graph_.is_loop(outgoing) || !is_taken(outgoing)) continue;
    if (loop(outgoing) >= workflow_.loop_limit(outgoing)) {
      reason_ =
          fmt::format("{} reached its limit of {} iterations", base::quoted(graph_.edge(outgoing).id), loop(outgoing));
      continue;
    }
    take_loop(outgoing);
    return true;
  }
  return false;
}

void Decider::take_loop(EdgeIndex index) {
  const NodeIndex source = graph_.source(index);
  const NodeIndex target = graph_.target(index);
  const Delivery brought{index, ++tally_.edges_taken, map_output(graph_, index, state(source).outputs)};
  const std::vector<NodeIndex> body = workflow_.loop_body(index);
  ++loop(index);
  view_.expect(body);
  for (const NodeIndex node : body) {
    if (is_live(state(node).status)) cancel(node);
    archive(node);
    reset(node, NodeReset::by_loop);
  }
  for (const NodeIndex node : body) {
    reopen(node);
    // Inner loops start counting again.
    for (const EdgeIndex inner : graph_.outgoing(node)) {
      const bool is_inner =
          graph_.is_loop(inner) && inner != index && std::ranges::binary_search(body, graph_.target(inner));
      if (is_inner) loop(inner) = 0;
    }
  }
  make_ready(target, {brought});
}

void Decider::archive(NodeIndex node) {
  const Draft::Touched& touched = touch(node);
  const NodeState& now = touched.now;
  if (now.status == NodeStatus::pending) return;
  archived_.push_back({node, now.status, now.attempt, now.iteration, now.inputs, now.outputs, touched.error});
}

void Decider::reset(NodeIndex node, NodeReset why) {
  move(node, NodeStatus::pending);
  Draft::Touched& touched = touch(node);
  if (touched.reset != NodeReset::by_loop) touched.reset = why;
  touched.error.reset();
  touched.now.iteration += why == NodeReset::by_loop ? 1 : 0;
  touched.now.attempt = 0;
  touched.now.not_before.reset();
  touched.now.inputs = Value();
  touched.now.outputs = Value();
}

void Decider::reopen(NodeIndex node) {
  std::deque<NodeIndex> queue = {node};
  while (!queue.empty()) {
    const NodeIndex from = queue.front();
    queue.pop_front();
    for (const EdgeIndex outgoing : graph_.outgoing(from)) {
      if (graph_.is_loop(outgoing) || edge(outgoing).state == EdgeState::open) continue;
      NodeState& target = state(graph_.target(outgoing));
      --target.edges_decided;
      target.edges_taken -= edge(outgoing).state == EdgeState::taken ? 1 : 0;
      edge(outgoing) = {};
      if (target.status != NodeStatus::skipped) continue;
      reset(graph_.target(outgoing), NodeReset::reached_again);
      queue.push_back(graph_.target(outgoing));
    }
  }
}

}  // namespace reeve::engine
