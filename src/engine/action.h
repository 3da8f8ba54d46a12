#pragma once

#include <variant>

#include "base/clock.h"
#include "graph/graph.h"

// Everything that a decision about an execution asks the world to do, after its changes are committed. Each names the
// node, its iteration and attempt: doing it twice after a crash is told apart from doing it again.
namespace reeve::engine {

// A task, gate or subgraph may begin.
struct StartNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  // Not before so long (GRF-14: the pause between attempts).
  base::Milliseconds after{0};
  friend bool operator==(const StartNode&, const StartNode&) = default;
};

// A human node asks its question.
struct AskPerson {
  graph::NodeIndex node = 0;
  int iteration = 0;
  friend bool operator==(const AskPerson&, const AskPerson&) = default;
};

// What runs or waits for this node ends.
struct CancelNode {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  friend bool operator==(const CancelNode&, const CancelNode&) = default;
};

using Action = std::variant<StartNode, AskPerson, CancelNode>;

}  // namespace reeve::engine
