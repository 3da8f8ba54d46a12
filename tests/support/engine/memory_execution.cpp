#include "tests/support/engine/memory_execution.h"

#include <gtest/gtest.h>

namespace reeve::testing {

using engine::NodeChange;
using graph::NodeIndex;
using model::NodeStatus;

namespace {

bool is_live(NodeStatus status) {
  return status == NodeStatus::ready || status == NodeStatus::running || status == NodeStatus::waiting_approval;
}

}  // namespace

MemoryExecution::MemoryExecution(const engine::CompiledWorkflow& workflow, base::Value seeds)
    : workflow_(workflow),
      seeds_(std::move(seeds)),
      nodes_(workflow.graph().node_count()),
      edges_(workflow.workflow().edges.size()),
      loops_(workflow.workflow().edges.size(), 0) {}

MemoryExecution::MemoryExecution(const engine::CompiledWorkflow& corrected, const MemoryExecution& before)
    : workflow_(corrected),
      seeds_(before.seeds_),
      moment_(before.moment_),
      status_(before.status_),
      reason_(before.reason_),
      tally_(before.tally_),
      nodes_(before.nodes_),
      errors_(before.errors_),
      edges_(before.edges_),
      loops_(before.loops_),
      begun_(before.begun_),
      notes_(before.notes_) {
  nodes_.resize(corrected.graph().node_count());
  edges_.resize(corrected.workflow().edges.size());
  loops_.resize(corrected.workflow().edges.size(), 0);
  tally_.exits_completed = 0;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].status == NodeStatus::completed && corrected.is_exit(node)) ++tally_.exits_completed;
  }
}

std::vector<NodeIndex> MemoryExecution::live_nodes() const {
  std::vector<NodeIndex> live;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (is_live(nodes_[node].status)) live.push_back(node);
  }
  return live;
}

std::vector<engine::FailedNode> MemoryExecution::failed_nodes() const {
  std::vector<engine::FailedNode> failed;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].status == NodeStatus::failed) failed.push_back({node, errors_.at(node)});
  }
  return failed;
}

std::vector<NodeIndex> MemoryExecution::ready_nodes(base::WallTime now, std::size_t most) const {
  std::vector<NodeIndex> ready;
  for (NodeIndex node = 0; node < nodes_.size() && ready.size() < most; ++node) {
    const bool may_begin = nodes_[node].not_before.value_or(now) <= now;
    if (nodes_[node].status == NodeStatus::ready && may_begin) ready.push_back(node);
  }
  return ready;
}

engine::ExecutionDecision MemoryExecution::on(const engine::ExecutionEvent& event) {
  engine::ExecutionDecision decision = engine::decide(*this, event, moment_);
  if (!decision.is_stale) {
    apply(decision);
    for (const engine::Action& action : decision.actions) {
      if (const auto* start = std::get_if<engine::StartNode>(&action)) ++begun_[start->node];
    }
    check_tally();
  }
  return decision;
}

void MemoryExecution::apply(const engine::ExecutionDecision& decision) {
  for (const NodeChange& change : decision.nodes) {
    engine::NodeState& node = nodes_[change.node];
    EXPECT_EQ(node.status, change.from) << "a change over a state that is not there";
    const bool is_reset = change.reset != engine::NodeReset::none;
    if (change.from != change.to && !is_reset) {
      EXPECT_TRUE(can_move(change.from, change.to)) << base::spell(change.from) << " → " << base::spell(change.to)
                                                    << " of " << workflow_.graph().node(change.node).id;
    }
    node.status = change.to;
    node.attempt = change.attempt;
    node.iteration = change.iteration;
    node.edges_decided = change.edges_decided;
    node.edges_taken = change.edges_taken;
    node.not_before = change.not_before;
    if (change.error) errors_[change.node] = *change.error;
    if (change.inputs || is_reset) node.inputs = change.inputs.value_or(base::Value());
    if (change.outputs || is_reset) node.outputs = change.outputs.value_or(base::Value());
  }
  for (const engine::EdgeChange& change : decision.edges) edges_[change.edge] = {change.to, change.order};
  for (const engine::LoopChange& change : decision.loops) loops_[change.edge] = change.taken;
  if (decision.execution) {
    EXPECT_EQ(decision.execution->from, status_);
    EXPECT_TRUE(status_ == decision.execution->to || can_move(status_, decision.execution->to));
    status_ = decision.execution->to;
    tally_ = decision.execution->tally;
    if (decision.execution->reason) reason_ = *decision.execution->reason;
  }
  if (decision.cancels_pending) {
    for (engine::NodeState& node : nodes_) {
      if (node.status == NodeStatus::pending) node.status = NodeStatus::cancelled;
    }
  }
  notes_.insert(notes_.end(), decision.notes.begin(), decision.notes.end());
}

// The engine's counters match the nodes.
void MemoryExecution::check_tally() const {
  engine::Tally counted;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    const NodeStatus status = nodes_[node].status;
    counted.ready += status == NodeStatus::ready ? 1 : 0;
    counted.running += status == NodeStatus::running ? 1 : 0;
    counted.waiting += status == NodeStatus::waiting_approval ? 1 : 0;
    counted.failed += status == NodeStatus::failed ? 1 : 0;
    counted.exits_completed += status == NodeStatus::completed && workflow_.is_exit(node) ? 1 : 0;
  }
  counted.edges_taken = tally_.edges_taken;
  EXPECT_EQ(counted, tally_);
}

}  // namespace reeve::testing
