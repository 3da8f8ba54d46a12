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

// Every change that a decision about an execution can make to what is stored, with its fields. A change carries the
// state that it was made from: the ledger writes it only over that one.
namespace reeve::engine {

// Why a node goes back, which is no move of its life cycle.
enum class NodeReset {
  none,
  // A loop takes it back: what it had is kept in its history first (GRF-5).
  by_loop,
  // A loop took back those who led to it nowhere: it may be reached after all.
  reached_again,
  // Somebody asked to go on at what failed (GRF-14).
  by_retry,
};

struct NodeChange {
  graph::NodeIndex node = 0;
  model::NodeStatus from = model::NodeStatus::pending;
  model::NodeStatus to = model::NodeStatus::pending;
  int attempt = 0;
  int iteration = 0;
  // How many of its incoming edges are decided and taken, loop edges left out: readiness without a look at each
  // (GRF-4).
  std::int64_t edges_decided = 0;
  std::int64_t edges_taken = 0;
  // What it works on, from `ready` on; nothing after a reset.
  std::optional<base::Value> inputs;
  std::optional<base::Value> outputs;
  std::optional<std::string> error;
  // While `ready`: nobody may begin it before (GRF-14: the pause between attempts).
  std::optional<base::WallTime> not_before;
  NodeReset reset = NodeReset::none;
  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

// What a node had when a loop took it back (GRF-5); this very decision may have brought it there.
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
  // Counts the edges that were taken: which of several was first (GRF-10). 0 unless taken.
  std::int64_t order = 0;
  friend bool operator==(const EdgeChange&, const EdgeChange&) = default;
};

struct LoopChange {
  graph::EdgeIndex edge = 0;
  // How often it has been taken.
  std::int64_t taken = 0;
  friend bool operator==(const LoopChange&, const LoopChange&) = default;
};

// How many nodes stand where: what tells the end of an execution without a look at all its nodes (GRF-7).
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

// A row that does not exist yet has no id: the node it belongs to names it, and who writes it gives the node its id.

// A human node asks (GRF-12). The status of its node changes with it.
struct NewApproval {
  graph::NodeIndex node = 0;
  int iteration = 0;
  std::string question;
  std::optional<std::string> description;
  std::vector<model::ApprovalOption> options;
  std::optional<base::WallTime> expires_at;
  // What its node got, to be shown with the question.
  base::Value inputs = {};
  friend bool operator==(const NewApproval&, const NewApproval&) = default;
};

// A subgraph begins as an execution of its own (GRF-11).
struct NewChild {
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  std::string workflow_name;
  base::Value seeds;
  // The child of the attempt before is to go on at what failed, instead of a new one (GRF-14).
  bool resumes = false;
  friend bool operator==(const NewChild&, const NewChild&) = default;
};

// Something to tell that changes no state.
struct Note {
  enum class Kind {
    // A condition could not be compared and counts as false (GRF-2).
    doubtful_condition,
    // Two edges brought the same field; the later one in the file won (GRF-8).
    field_collision,
  };
  Kind kind = Kind::doubtful_condition;
  graph::NodeIndex node = 0;
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

}  // namespace reeve::engine
