#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/execution.h"

namespace reeve::testing {

// An execution in memory: a view for the engine that applies its decisions. Every change is checked as the store would
// check it.
class MemoryExecution final : public engine::ExecutionView {
 public:
  explicit MemoryExecution(const engine::CompiledWorkflow& workflow, base::Value seeds = {});
  // The state of `before` under a corrected workflow, as the store keeps it.
  MemoryExecution(const engine::CompiledWorkflow& corrected, const MemoryExecution& before);

  const engine::CompiledWorkflow& workflow() const override { return workflow_; }
  model::ExecutionStatus status() const override { return status_; }
  engine::Tally tally() const override { return tally_; }
  const base::Value& seeds() const override { return seeds_; }
  const engine::NodeState& node(graph::NodeIndex node) const override { return nodes_[node]; }
  engine::EdgeView edge(graph::EdgeIndex edge) const override { return edges_[edge]; }
  std::int64_t loop_taken(graph::EdgeIndex edge) const override { return loops_[edge]; }
  std::vector<graph::NodeIndex> live_nodes() const override;
  std::vector<engine::FailedNode> failed_nodes() const override;
  std::vector<graph::NodeIndex> ready_nodes(base::WallTime now, std::size_t most) const override;
  void expect(std::span<const graph::NodeIndex> /*nodes*/) const override {}

  // The context of decisions from now on.
  engine::Moment& moment() noexcept { return moment_; }

  // Decides and applies. Fails the test if a change does not match the stored state.
  engine::ExecutionDecision on(const engine::ExecutionEvent& event);

  // By name, for tests.
  graph::NodeIndex index(const std::string& id) const { return *workflow_.graph().find(id); }
  model::NodeStatus status_of(const std::string& id) const { return nodes_[index(id)].status; }
  const engine::NodeState& state_of(const std::string& id) const { return nodes_[index(id)]; }
  const std::string& reason() const { return reason_; }
  // How often each node began.
  const std::map<graph::NodeIndex, int>& begun() const { return begun_; }
  const std::vector<engine::Note>& notes() const { return notes_; }

 private:
  void apply(const engine::ExecutionDecision& decision);
  void check_tally() const;

  const engine::CompiledWorkflow& workflow_;
  base::Value seeds_;
  engine::Moment moment_;
  model::ExecutionStatus status_ = model::ExecutionStatus::running;
  std::string reason_;
  engine::Tally tally_;
  std::vector<engine::NodeState> nodes_;
  std::map<graph::NodeIndex, std::string> errors_;
  std::vector<engine::EdgeView> edges_;
  std::vector<std::int64_t> loops_;
  std::map<graph::NodeIndex, int> begun_;
  std::vector<engine::Note> notes_;
};

}  // namespace reeve::testing
