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

// What happens next in an execution (GRF-2 … GRF-12, GRF-14). Pure: it reads a view, looks only at the neighbours of
// what ended (and at a loop's body when a loop is taken), and returns what to store and what to do.
namespace reeve::engine {

// A workflow made ready for decisions, once per content hash. The workflow must outlive it.
class CompiledWorkflow {
 public:
  explicit CompiledWorkflow(const model::Workflow& workflow);

  const graph::Graph& graph() const noexcept { return graph_; }
  const model::Workflow& workflow() const noexcept { return graph_.workflow(); }
  bool is_exit(graph::NodeIndex node) const { return is_exit_[node]; }
  graph::NodeIndex entry() const noexcept { return entry_; }

  // How a node waits for its edges: a merge where a parallel node's branches meet as that node says (GRF-10).
  model::WaitFor wait_for(graph::NodeIndex node) const { return wait_for_[node]; }
  // The parallel node whose first finished branch this merge takes, if it is one.
  std::optional<graph::NodeIndex> first_of(graph::NodeIndex merge) const { return first_of_[merge]; }
  // Every node between a parallel node and the merge where its branches meet, both left out.
  std::vector<graph::NodeIndex> between(graph::NodeIndex parallel, graph::NodeIndex merge) const;
  // Whether a `no` of this node is a result for others to look at, not an accident (GRF-6, GRF-12).
  bool takes_no_for_an_answer(graph::NodeIndex node) const;
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
  // By edge; 0 for those that are no loops.
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

// What is stored of one execution. Asked only for what a decision needs.
struct FailedNode {
  graph::NodeIndex node = 0;
  std::string error;
};

class ExecutionView {
 public:
  virtual ~ExecutionView() = default;
  virtual const CompiledWorkflow& workflow() const = 0;
  virtual model::ExecutionStatus status() const = 0;
  virtual Tally tally() const = 0;
  // The inputs that the execution was started with.
  virtual const base::Value& seeds() const = 0;
  // Valid as long as the view.
  virtual const NodeState& node(graph::NodeIndex node) const = 0;
  virtual EdgeView edge(graph::EdgeIndex edge) const = 0;
  virtual std::int64_t loop_taken(graph::EdgeIndex edge) const = 0;
  // Nodes that are ready, running or waiting, in the order of the file.
  virtual std::vector<graph::NodeIndex> live_nodes() const = 0;
  // Nodes that failed, in the order of the file.
  virtual std::vector<FailedNode> failed_nodes() const = 0;
  // Nodes that are ready and may begin now, in the order of the file, at most so many.
  virtual std::vector<graph::NodeIndex> ready_nodes(base::WallTime now, std::size_t most) const = 0;
  // These will be asked for: a view over a database gets them at one go.
  virtual void expect(std::span<const graph::NodeIndex> nodes) const = 0;
};

// --- what happened ---

struct ExecutionStarted {};
// A worker wants to begin the node: its next attempt. Stale when it may not yet, or when max_parallel_nodes run.
struct NodeBegan {
  graph::NodeIndex node = 0;
};
// A task or subgraph ended well; a gate's command ran (`passed` says what it said); a person answered.
struct NodeFinished {
  graph::NodeIndex node = 0;
  base::Value outputs;
  // Of gates and human nodes: what they said.
  bool said_yes = true;
  // Why it is a no, where that is not plain ("it expired").
  std::string why_no = {};
};
struct NodeFailed {
  graph::NodeIndex node = 0;
  model::RetryOn kind = model::RetryOn::failed;
  std::string error;
  // A person has ended it, or another try cannot help: it is not tried again by itself (GRF-14).
  bool is_final = false;
};
// Only a person can move it now: the run of a task has asked, or the child of a subgraph waits (GRF-7). It takes up
// none of max_parallel_nodes.
struct NodeWaits {
  graph::NodeIndex node = 0;
};
// It has its answer, or needs none any more. It goes on at once, whatever runs meanwhile.
struct NodeGoesOn {
  graph::NodeIndex node = 0;
};
struct CancelRequested {
  std::string reason;
};
// Go on at what failed, and redo nothing that completed (GRF-14). Stale when the execution did not fail, or when no
// node did: a loop limit or a rejection leaves nothing to try again.
struct RetryRequested {
  // It goes on with the execution that it is a part of, also when it was cancelled with it (GRF-11).
  bool is_part = false;
};
// A worker has room (Moment::room) for nodes that are ready.
struct RoomOffered {};
using ExecutionEvent = std::variant<ExecutionStarted, NodeBegan, NodeFinished, NodeFailed, NodeWaits, NodeGoesOn,
                                    CancelRequested, RetryRequested, RoomOffered>;

// When the decision is made, and by whom.
struct Moment {
  base::WallTime now;
  // How many nodes the one who decides can start at once. What becomes ready beyond that is offered to others.
  std::size_t room = 0;
};

struct ExecutionDecision {
  std::vector<NodeChange> nodes;
  // In the order in which they were taken back; one iteration of a node once.
  std::vector<ArchivedNode> archived;
  std::vector<EdgeChange> edges;
  std::vector<LoopChange> loops;
  std::vector<NewApproval> approvals;
  std::vector<NewChild> children;
  std::optional<ExecutionChange> execution;
  // All nodes that are still pending become `cancelled`: the execution is over and nothing will reach them.
  bool cancels_pending = false;
  std::vector<Action> actions;
  std::vector<Note> notes;
  // The event came too late or twice: nothing is changed.
  bool is_stale = false;
};

ExecutionDecision decide(const ExecutionView& view, const ExecutionEvent& event, const Moment& moment);

}  // namespace reeve::engine
