#pragma once

#include <optional>
#include <variant>

#include "base/clock.h"
#include "graph/graph.h"

// The effects of a decision about an execution, performed after its changes are committed. Each carries node, iteration
// and attempt, so that repeating an action after a crash can be distinguished from a new action.
namespace reeve::engine {

// A task or gate starts now: its attempt is stored as running, claimed by the deciding worker.
struct StartNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const StartNode&, const StartNode&) = default;
};

// A task or gate is ready for any worker with a free slot.
struct OfferNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  // The number of the attempt that will start.
  int attempt = 0;
  std::optional<base::WallTime> not_before;
  friend bool operator==(const OfferNode&, const OfferNode&) = default;
};

// Ends whatever runs or waits for this node: a run, a question, a child execution.
struct CancelNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const CancelNode&, const CancelNode&) = default;
};

using Action = std::variant<StartNode, OfferNode, CancelNode>;

}  // namespace reeve::engine
