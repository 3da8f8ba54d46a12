#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/execution.h"

namespace reeve::engine {

// The touched part of an execution, copied from the view and modified while a decision is made.
class Draft {
 public:
  struct Touched {
    const NodeState& before;
    NodeState now;
    std::optional<std::string> error;
    NodeReset reset = NodeReset::none;
  };

  // The view must outlive the draft.
  explicit Draft(const ExecutionView& view) : view_(view), tally_(view.tally()) {}

  Touched& touch(graph::NodeIndex node);
  EdgeView& edge(graph::EdgeIndex edge);
  std::int64_t& loop(graph::EdgeIndex edge);
  Tally& tally() noexcept { return tally_; }
  std::vector<graph::NodeIndex> touched_nodes() const;

  // Changes a status and the counts that depend on it.
  void move(graph::NodeIndex node, model::NodeStatus to);

  // Collects the differences from the view. The caller fills in the rest of the decision.
  ExecutionDecision collect(model::ExecutionStatus status, const std::optional<std::string>& reason) const;

 private:
  void count(graph::NodeIndex node, model::NodeStatus status, std::int64_t by);

  const ExecutionView& view_;
  Tally tally_;
  // Ordered, so that the same decision is always written in the same order.
  std::map<graph::NodeIndex, Touched> nodes_;
  std::map<graph::EdgeIndex, EdgeView> edges_;
  std::map<graph::EdgeIndex, std::int64_t> loops_;
};

}  // namespace reeve::engine
