#pragma once

#include <optional>
#include <variant>

#include "base/clock.h"
#include "graph/graph.h"

// Everything that a decision about an execution asks the world to do, after its changes are committed. Each names the
// node, its iteration and attempt: doing it twice after a crash is told apart from doing it again.
namespace reeve::engine {

// A task or gate begins now: its attempt is stored as running, for the one who decided.
struct StartNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const StartNode&, const StartNode&) = default;
};

// A task or gate is ready for whoever has room for it.
struct OfferNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  // The attempt that its beginning will be.
  int attempt = 0;
  std::optional<base::WallTime> not_before;
  friend bool operator==(const OfferNode&, const OfferNode&) = default;
};

// What runs or waits for this node ends: a run, a question, a child execution.
struct CancelNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const CancelNode&, const CancelNode&) = default;
};

using Action = std::variant<StartNode, OfferNode, CancelNode>;

}  // namespace reeve::engine
