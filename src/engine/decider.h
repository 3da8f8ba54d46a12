#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/condition.h"
#include "engine/draft.h"
#include "engine/inputs.h"

namespace reeve::engine {

// One decision: a draft that is changed step by step, and a queue of ended nodes whose neighbours must still be
// visited. The decision is the difference between the draft and the view.
class Decider {
 public:
  Decider(const ExecutionView& view, const Moment& moment)
      : view_(view),
        moment_(moment),
        workflow_(view.workflow()),
        graph_(workflow_.graph()),
        draft_(view),
        tally_(draft_.tally()),
        status_(view.status()) {}

  ExecutionDecision decide(const ExecutionEvent& event);

 private:
  using Value = base::Value;
  using EdgeIndex = graph::EdgeIndex;
  using Graph = graph::Graph;
  using NodeIndex = graph::NodeIndex;
  using ExecutionStatus = model::ExecutionStatus;
  using NodeStatus = model::NodeStatus;

  static bool is_live(NodeStatus status) {
    return status == NodeStatus::ready || status == NodeStatus::running || status == NodeStatus::waiting_approval;
  }

  // --- the draft ---

  Draft::Touched& touch(NodeIndex node) { return draft_.touch(node); }
  NodeState& state(NodeIndex node) { return draft_.touch(node).now; }
  EdgeView& edge(EdgeIndex edge) { return draft_.edge(edge); }
  std::int64_t& loop(EdgeIndex edge) { return draft_.loop(edge); }
  void move(NodeIndex node, NodeStatus to) { draft_.move(node, to); }

  // --- what happened ---

  bool handle(const ExecutionStarted&);
  bool handle(const NodeBegan& event);
  bool handle(const NodeFinished& event);
  bool handle(const NodeFailed& event);
  bool handle(const NodeWaits& event);
  bool handle(const NodeGoesOn& event);
  bool handle(const CancelRequested& event);
  // Nothing to do: nodes are claimed at the end of every decision.
  bool handle(const RoomOffered&) const;
  bool handle(const RetryRequested& event);

  // --- a retry ---

  // Cancelled because another branch was first (GRF-10): its edges are decided, and nothing waits for it.
  bool was_given_up(NodeIndex node);
  void restart(NodeIndex node);
  // Decides the edges that a correction has added to nodes that ended before.
  void settle_added_edges();

  // --- nodes ---

  bool has_slot() const { return tally_.running < workflow_.workflow().config.max_parallel_nodes; }
  void begin(NodeIndex node);
  // GRF-14: starts ready nodes while there are free slots, and offers the rest. A subgraph needs no slot, because it is
  // not a process.
  void claim_ready();
  void complete(NodeIndex node, Value outputs);
  void fail(NodeIndex node, const std::string& error);
  void cancel(NodeIndex node);
  std::vector<Delivery> deliveries(NodeIndex node);
  // `more` holds the data of a loop edge.
  void make_ready(NodeIndex node, const std::vector<Delivery>& more);
  void finish_merge(NodeIndex node);
  // GRF-6: a gate with `auto_approve` that passed answers the question after it.
  void ask(NodeIndex node);
  void ask_person(NodeIndex node);
  // GRF-5, GRF-9: evaluates the condition first; `max_iterations_reached` results only when another iteration was
  // needed and not allowed.
  void finish_branch(NodeIndex node);

  // --- edges ---

  void note_doubt(NodeIndex node, const ConditionResult& result);
  // Whether the edge is taken now that its source has completed (GRF-3).
  bool is_taken(EdgeIndex index);
  void propagate();
  void settle(NodeIndex node);
  void decide_edges(NodeIndex node);
  // GRF-4. A node past `pending` ignores later edges.
  void consider(NodeIndex node);

  // --- loops ---

  bool try_loops(NodeIndex node);
  // GRF-5: resets the loop body; nodes outside keep their results.
  void take_loop(EdgeIndex index);
  void archive(NodeIndex node);
  void reset(NodeIndex node, NodeReset why);
  // Reopens the node's outgoing edges. Nodes that were skipped because of them may be reached after all.
  void reopen(NodeIndex node);

  // --- the execution ---

  // Cancels every live node (GRF-7).
  void end(ExecutionStatus to, const std::string& reason);
  void check_end();
  std::string describe_failure(const FailedNode& failed) const;
  std::string find_reason();
  ExecutionDecision collect();

  const ExecutionView& view_;
  const Moment& moment_;
  const CompiledWorkflow& workflow_;
  const Graph& graph_;
  const Value nothing_;
  Draft draft_;
  Tally& tally_;
  ExecutionStatus status_;
  std::optional<std::string> end_reason_;
  // Why the execution may end without reaching an exit.
  std::string reason_;
  // The first node in file order that failed in this decision, and its error text.
  std::optional<std::pair<NodeIndex, std::string>> failed_;
  bool cancels_pending_ = false;
  std::deque<NodeIndex> ended_;
  // Tasks, gates and subgraphs that this decision made ready.
  std::vector<NodeIndex> newly_ready_;
  std::vector<ArchivedNode> archived_;
  std::vector<NewApproval> approvals_;
  std::vector<NewChild> children_;
  std::vector<Action> actions_;
  std::vector<Note> notes_;
};

}  // namespace reeve::engine
