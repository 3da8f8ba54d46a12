#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "engine/action.h"
#include "engine/change.h"
#include "graph/analysis.h"
#include "graph/graph.h"
#include "model/execution.h"

// Decides the next step of an execution (GRF-2 … GRF-12, GRF-14). Pure: reads a view, visits only the neighbours of
// ended nodes (and the body of a taken loop), and returns what to store and what to do.
namespace reeve::engine {

// A workflow compiled for decisions, once per content hash. The workflow must outlive it.
class CompiledWorkflow {
 public:
  explicit CompiledWorkflow(const model::Workflow& workflow);

  const graph::Graph& graph() const noexcept { return graph_; }
  const model::Workflow& workflow() const noexcept { return graph_.workflow(); }
  bool is_exit(graph::NodeIndex node) const { return is_exit_[node]; }
  graph::NodeIndex entry() const noexcept { return entry_; }

  // How a node waits for its edges: a merge after a parallel node waits as that parallel node says (GRF-10).
  model::WaitFor wait_for(graph::NodeIndex node) const { return wait_for_[node]; }
  // If this merge takes the first finished branch of a parallel node, that node.
  std::optional<graph::NodeIndex> first_of(graph::NodeIndex merge) const { return first_of_[merge]; }
  // Every node between a parallel node and the merge where its branches meet, both excluded.
  std::vector<graph::NodeIndex> between(graph::NodeIndex parallel, graph::NodeIndex merge) const;
  // Whether a rejection by this node is a result for later nodes and not a failure (GRF-6, GRF-12).
  bool treats_failure_as_result(graph::NodeIndex node) const;
  // How many incoming edges count for readiness (GRF-4).
  std::int64_t awaited(graph::NodeIndex node) const { return awaited_[node]; }
  std::vector<graph::NodeIndex> loop_body(graph::EdgeIndex edge) const;
  // How often a loop edge may be taken.
  std::int64_t loop_limit(graph::EdgeIndex edge) const { return loop_limit_[edge]; }

 private:
  graph::Graph graph_;
  graph::Levels levels_;
  graph::NodeIndex entry_ = 0;
  std::vector<bool> is_exit_;
  std::vector<model::WaitFor> wait_for_;
  std::vector<std::optional<graph::NodeIndex>> first_of_;
  std::vector<std::int64_t> awaited_;
  // By edge; 0 for edges that are not loops.
  std::vector<std::int64_t> loop_limit_;
};

struct NodeState {
  model::NodeStatus status = model::NodeStatus::pending;
  int attempt = 0;
  int iteration = 0;
  // As in NodeChange.
  std::int64_t edges_decided = 0;
  std::int64_t edges_taken = 0;
  std::optional<base::WallTime> not_before;
  base::Value inputs;
  base::Value outputs;
};

struct EdgeView {
  model::EdgeState state = model::EdgeState::open;
  std::int64_t order = 0;
};

// The stored state of one execution, read on demand.
struct FailedNode {
  graph::NodeIndex node = 0;
  std::string error;
};

class ExecutionView {
 public:
  virtual ~ExecutionView() = default;
  virtual const CompiledWorkflow& workflow() const = 0;
  virtual model::ExecutionStatus status() const = 0;
  // A person holds it: nothing starts.
  virtual bool is_paused() const { return false; }
  virtual Tally tally() const = 0;
  // The inputs that the execution was started with.
  virtual const base::Value& seeds() const = 0;
  // Valid for the lifetime of the view.
  virtual const NodeState& node(graph::NodeIndex node) const = 0;
  virtual EdgeView edge(graph::EdgeIndex edge) const = 0;
  virtual std::int64_t loop_taken(graph::EdgeIndex edge) const = 0;
  // Ready, running and waiting nodes, in file order.
  virtual std::vector<graph::NodeIndex> live_nodes() const = 0;
  // Failed nodes, in file order.
  virtual std::vector<FailedNode> failed_nodes() const = 0;
  // At most `most` nodes that are ready and may start at `now`, in file order.
  virtual std::vector<graph::NodeIndex> ready_nodes(base::WallTime now, std::size_t most) const = 0;
  // Hints that these nodes will be read, so that a database view can fetch them together.
  virtual void expect(std::span<const graph::NodeIndex> nodes) const = 0;
};

// --- what happened ---

struct ExecutionStarted {};
// A worker wants to start the node's next attempt. Stale if it may not start yet, or if max_parallel_nodes are running.
struct NodeBegan {
  graph::NodeIndex node = 0;
};
// A task or subgraph succeeded, a gate's command ran, or a person answered.
struct NodeFinished {
  graph::NodeIndex node = 0;
  base::Value outputs;
  // The result of a gate or human node.
  bool said_yes = true;
  // Why the result is negative, if there is a special reason ("it expired").
  std::string why_no = {};
};
struct NodeFailed {
  graph::NodeIndex node = 0;
  model::RetryOn kind = model::RetryOn::failed;
  std::string error;
  // A person ended it, or a retry cannot help: it is not retried automatically (GRF-14).
  bool is_final = false;
};
// Only a person can move the node now: a task's run has asked, or a subgraph's child waits (GRF-7). It does not count
// against max_parallel_nodes.
struct NodeWaits {
  graph::NodeIndex node = 0;
};
// The node has its answer or no longer needs one. It resumes immediately, regardless of max_parallel_nodes.
struct NodeGoesOn {
  graph::NodeIndex node = 0;
};
struct CancelRequested {
  std::string reason;
};
// Retry the failed nodes without redoing completed ones (GRF-14). Stale if the execution did not fail, or if no node
// failed: a loop limit or a rejection leaves nothing to retry.
struct RetryRequested {
  // Retried with its parent execution, even if it was cancelled with the parent (GRF-11).
  bool is_part = false;
  // The view has a corrected workflow (engine/correction.h): edges that were added to nodes that have ended are
  // decided, and these nodes collect their inputs again.
  bool is_corrected = false;
  std::vector<graph::NodeIndex> fresh_inputs = {};
};
// A worker has free slots (Moment::room) for ready nodes.
struct RoomOffered {};
using ExecutionEvent = std::variant<ExecutionStarted, NodeBegan, NodeFinished, NodeFailed, NodeWaits, NodeGoesOn,
                                    CancelRequested, RetryRequested, RoomOffered>;

// The time of the decision, and the capacity of the deciding worker.
struct Moment {
  base::WallTime now;
  // How many nodes the deciding worker can start. Further ready nodes are offered to other workers.
  std::size_t room = 0;
};

struct ExecutionDecision {
  std::vector<NodeChange> nodes;
  // In reset order; each iteration of a node once.
  std::vector<ArchivedNode> archived;
  std::vector<EdgeChange> edges;
  std::vector<LoopChange> loops;
  std::vector<NewApproval> approvals;
  std::vector<NewChild> children;
  std::optional<ExecutionChange> execution;
  // All pending nodes become `cancelled`: the execution is over, and nothing will reach them.
  bool cancels_pending = false;
  std::vector<Action> actions;
  std::vector<Note> notes;
  // The event was late or repeated: nothing is changed.
  bool is_stale = false;
};

ExecutionDecision decide(const ExecutionView& view, const ExecutionEvent& event, const Moment& moment);

}  // namespace reeve::engine
