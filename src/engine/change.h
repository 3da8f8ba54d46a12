#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "graph/graph.h"
#include "model/approval.h"
#include "model/execution.h"

// Every change that a decision about an execution can make to the stored state. A change carries the state that it was
// decided on, and the ledger writes it only over that state.
namespace reeve::engine {

// Why a node is reset, which is not a transition of its life cycle.
enum class NodeReset {
  none,
  // A loop resets it; its previous state is archived first (GRF-5).
  by_loop,
  // A loop reset the nodes that had skipped it: it may be reached after all.
  reached_again,
  // A user asked to retry from the failed nodes (GRF-14).
  by_retry,
};

struct NodeChange {
  graph::NodeIndex node = 0;
  model::NodeStatus from = model::NodeStatus::pending;
  model::NodeStatus to = model::NodeStatus::pending;
  int attempt = 0;
  int iteration = 0;
  // How many incoming edges are decided and taken, without loop edges: readiness without reading each edge (GRF-4).
  std::int64_t edges_decided = 0;
  std::int64_t edges_taken = 0;
  // Its inputs, from `ready` on; empty after a reset.
  std::optional<base::Value> inputs;
  std::optional<base::Value> outputs;
  std::optional<std::string> error;
  // While `ready`: it may not start before this time (GRF-14: the pause between attempts).
  std::optional<base::WallTime> not_before;
  NodeReset reset = NodeReset::none;
  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

// The state of a node before a loop reset it (GRF-5); the same decision may have brought it there.
struct ArchivedNode {
  graph::NodeIndex node = 0;
  model::NodeStatus status = model::NodeStatus::completed;
  int attempt = 0;
  int iteration = 0;
  base::Value inputs;
  base::Value outputs;
  std::optional<std::string> error;
  friend bool operator==(const ArchivedNode&, const ArchivedNode&) = default;
};

struct EdgeChange {
  graph::EdgeIndex edge = 0;
  model::EdgeState to = model::EdgeState::open;
  // The rank among the taken edges, to tell which came first (GRF-10). 0 unless taken.
  std::int64_t order = 0;
  friend bool operator==(const EdgeChange&, const EdgeChange&) = default;
};

struct LoopChange {
  graph::EdgeIndex edge = 0;
  // How often it has been taken.
  std::int64_t taken = 0;
  friend bool operator==(const LoopChange&, const LoopChange&) = default;
};

// Node counts by status, to detect the end of an execution without reading all nodes (GRF-7).
struct Tally {
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t failed = 0;
  std::int64_t exits_completed = 0;
  std::int64_t edges_taken = 0;

  std::int64_t live() const noexcept { return ready + running + waiting; }
  friend bool operator==(const Tally&, const Tally&) = default;
};

struct ExecutionChange {
  model::ExecutionStatus from = model::ExecutionStatus::running;
  model::ExecutionStatus to = model::ExecutionStatus::running;
  std::optional<std::string> reason;
  Tally tally;
  friend bool operator==(const ExecutionChange&, const ExecutionChange&) = default;
};

// A new row has no id yet: it is identified by its node, and the writer stores the id in the node.

// A human node asks (GRF-12). Its status changes in the same decision.
struct NewApproval {
  graph::NodeIndex node = 0;
  int iteration = 0;
  std::string question;
  std::optional<std::string> description;
  std::vector<model::ApprovalOption> options;
  std::optional<base::WallTime> expires_at;
  // The node's inputs, shown with the question.
  base::Value inputs = {};
  friend bool operator==(const NewApproval&, const NewApproval&) = default;
};

// A subgraph starts as a separate execution (GRF-11).
struct NewChild {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  std::string workflow_name;
  base::Value seeds;
  // Resumes the child of the previous attempt from its failed nodes, instead of starting a new one (GRF-14).
  bool resumes = false;
  friend bool operator==(const NewChild&, const NewChild&) = default;
};

// A remark for the event log; it changes no state.
struct Note {
  enum class Kind {
    // A condition could not be evaluated and counts as false (GRF-2).
    doubtful_condition,
    // Two edges delivered the same field; the later one in the file won (GRF-8).
    field_collision,
  };
  Kind kind = Kind::doubtful_condition;
  graph::NodeIndex node = 0;
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace reeve::engine
