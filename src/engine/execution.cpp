#include "engine/execution.h"

#include <algorithm>
#include <deque>
#include <ranges>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/condition.h"
#include "engine/draft.h"
#include "engine/inputs.h"

namespace reeve::engine {

namespace {

using base::Value;
using graph::EdgeIndex;
using graph::Graph;
using graph::NodeIndex;
using model::EdgeState;
using model::ExecutionStatus;
using model::NodeStatus;
using model::NodeType;

// Nodes that may end within one decision: more than a workflow has, so that only a loop gets there.
constexpr std::size_t most_settled = 5 * base::limits::workflow_nodes;

void sort_and_unite(std::vector<NodeIndex>& nodes) {
  std::ranges::sort(nodes);
  const auto [first, last] = std::ranges::unique(nodes);
  nodes.erase(first, last);
}

bool is_live(NodeStatus status) {
  return status == NodeStatus::ready || status == NodeStatus::running || status == NodeStatus::waiting_approval;
}

// One decision: a draft that is changed step by step, and the list of what ended and still has to reach its neighbours.
// At the end the draft is compared with the view: that is the decision.
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

  ExecutionDecision decide(const ExecutionEvent& event) {
    const bool is_retry = std::holds_alternative<RetryRequested>(event) && status_ == ExecutionStatus::failed;
    if (model::is_over(status_) && !is_retry) return stale();
    const bool is_taken = std::visit([&](const auto& e) { return handle(e); }, event);
    if (!is_taken) return stale();
    propagate();
    claim_ready();
    check_end();
    return collect();
  }

 private:
  static ExecutionDecision stale() {
    ExecutionDecision decision;
    decision.is_stale = true;
    return decision;
  }

  // --- the draft ---

  Draft::Touched& touch(NodeIndex node) { return draft_.touch(node); }
  NodeState& state(NodeIndex node) { return draft_.touch(node).now; }
  EdgeView& edge(EdgeIndex edge) { return draft_.edge(edge); }
  std::int64_t& loop(EdgeIndex edge) { return draft_.loop(edge); }
  void move(NodeIndex node, NodeStatus to) { draft_.move(node, to); }

  // --- what happened ---

  bool handle(const ExecutionStarted&) {
    if (state(workflow_.entry()).status != NodeStatus::pending) return false;
    make_ready(workflow_.entry(), {});
    return true;
  }

  bool handle(const NodeBegan& event) {
    const NodeState& now = state(event.node);
    const bool may_begin = now.status == NodeStatus::ready && now.not_before.value_or(moment_.now) <= moment_.now;
    if (!may_begin || !has_slot()) return false;
    begin(event.node);
    return true;
  }

  bool handle(const NodeFinished& event) {
    const NodeStatus status = state(event.node).status;
    if (status != NodeStatus::running && status != NodeStatus::waiting_approval) return false;
    const bool is_human = graph_.node(event.node).type == NodeType::human;
    if (!event.said_yes && !workflow_.takes_no_for_an_answer(event.node)) {
      touch(event.node).now.outputs = event.outputs;
      const std::string plain = is_human ? "it was rejected" : "the gate said no";
      fail(event.node, event.why_no.empty() ? plain : event.why_no);
    } else {
      complete(event.node, is_human ? with_fields(state(event.node).inputs, event.outputs) : event.outputs);
    }
    return true;
  }

  bool handle(const NodeFailed& event) {
    const NodeStatus status = state(event.node).status;
    if (!is_live(status)) return false;
    const auto& task = graph_.node(event.node).task_config;
    const auto& retry = task ? task->retry : std::nullopt;
    const bool may_retry = retry && status == NodeStatus::running && state(event.node).attempt < retry->attempts &&
                           std::ranges::find(retry->on, event.kind) != retry->on.end();
    if (may_retry) {
      move(event.node, NodeStatus::ready);
      touch(event.node).error = event.error;
      if (retry->backoff > base::Milliseconds(0)) state(event.node).not_before = moment_.now + retry->backoff;
      newly_ready_.push_back(event.node);
    } else {
      fail(event.node, event.error);
    }
    return true;
  }

  bool handle(const CancelRequested& event) {
    end(ExecutionStatus::cancelled, event.reason);
    return true;
  }

  // Claiming happens at the end of every decision.
  bool handle(const RoomOffered&) const { return tally_.ready > 0; }

  bool handle(const RetryRequested&) {
    if (status_ != ExecutionStatus::failed || tally_.failed == 0) return false;
    status_ = ExecutionStatus::running;
    const auto all = std::views::iota(NodeIndex{0}, graph_.node_count());
    view_.expect(std::vector<NodeIndex>(all.begin(), all.end()));
    std::vector<NodeIndex> pending;
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      const NodeStatus status = view_.node(node).status;
      const bool was_cut_off = status == NodeStatus::cancelled && !was_given_up(node);
      if (status != NodeStatus::failed && !was_cut_off) continue;
      touch(node).reset = NodeReset::by_retry;
      touch(node).error.reset();
      reopen(node);
      // One that had begun goes on with what it had; the others wait for their edges again.
      if (!state(node).inputs.is_null()) {
        restart(node);
      } else {
        move(node, NodeStatus::pending);
        pending.push_back(node);
      }
    }
    for (const NodeIndex node : pending) {
      if (node == workflow_.entry()) {
        make_ready(node, {});
      } else if (state(node).edges_decided > 0) {
        consider(node);
      }
    }
    return true;
  }

  // Cancelled because another branch was first (GRF-10): its edges were decided, nobody waits for it.
  bool was_given_up(NodeIndex node) {
    const auto outgoing = graph_.outgoing(node);
    return !outgoing.empty() && std::ranges::all_of(outgoing, [&](EdgeIndex index) {
      return graph_.is_loop(index) || view_.edge(index).state != EdgeState::open;
    });
  }

  void restart(NodeIndex node) {
    if (graph_.node(node).type == NodeType::human) return ask_person(node);
    move(node, NodeStatus::ready);
    newly_ready_.push_back(node);
  }

  // --- nodes ---

  bool has_slot() const { return tally_.running < workflow_.workflow().config.max_parallel_nodes; }

  void begin(NodeIndex node) {
    move(node, NodeStatus::running);
    NodeState& now = state(node);
    ++now.attempt;
    now.not_before.reset();
    const auto& subgraph = graph_.node(node).subgraph_config;
    if (!subgraph) {
      actions_.emplace_back(StartNode{node, now.iteration, now.attempt});
    } else {
      // Only a retry begins a subgraph again within its iteration.
      const bool resumes = now.attempt > 1;
      children_.push_back({node, now.iteration, now.attempt, subgraph->workflow_name,
                           map_fields(now.inputs, subgraph->input_mapping), resumes});
    }
  }

  // GRF-14: what is ready begins at once where there is room; a subgraph needs none, for it is no process. The rest is
  // offered.
  void claim_ready() {
    if (model::is_over(status_)) return;
    // A loop may have taken back what was made ready before it, or made it ready again.
    std::erase_if(newly_ready_, [&](NodeIndex node) { return state(node).status != NodeStatus::ready; });
    sort_and_unite(newly_ready_);
    std::size_t room = moment_.room;
    std::vector<NodeIndex> candidates;
    if (has_slot() && tally_.ready > 0) {
      const auto slots = static_cast<std::size_t>(workflow_.workflow().config.max_parallel_nodes - tally_.running);
      candidates = newly_ready_;
      if (tally_.ready > std::ssize(newly_ready_)) {
        const auto others = view_.ready_nodes(moment_.now, slots + draft_.touched_nodes().size());
        candidates.insert(candidates.end(), others.begin(), others.end());
        view_.expect(others);
      }
      sort_and_unite(candidates);
    }
    for (const NodeIndex node : candidates) {
      const NodeState& now = state(node);
      if (now.status != NodeStatus::ready || now.not_before.value_or(moment_.now) > moment_.now) continue;
      const bool needs_room = !graph_.node(node).subgraph_config;
      if (!has_slot() || (needs_room && room == 0)) continue;
      begin(node);
      room -= needs_room ? 1 : 0;
    }
    for (const NodeIndex node : newly_ready_) {
      const NodeState& now = state(node);
      if (now.status != NodeStatus::ready) continue;
      actions_.emplace_back(OfferNode{node, now.iteration, now.attempt + 1, now.not_before});
    }
  }

  void complete(NodeIndex node, Value outputs) {
    move(node, NodeStatus::completed);
    state(node).outputs = std::move(outputs);
    ended_.push_back(node);
  }

  void fail(NodeIndex node, const std::string& error) {
    move(node, NodeStatus::failed);
    touch(node).error = error;
    reason_ = fmt::format("{} failed: {}", base::quoted(graph_.node(node).id), error);
    if (workflow_.workflow().config.fail_fast) {
      end(ExecutionStatus::failed, reason_);
    } else {
      ended_.push_back(node);
    }
  }

  void cancel(NodeIndex node) {
    state(node).not_before.reset();
    std::erase_if(approvals_, [&](const NewApproval& asked) { return asked.node == node; });
    actions_.emplace_back(CancelNode{node, state(node).iteration, state(node).attempt});
    move(node, NodeStatus::cancelled);
  }

  std::vector<Delivery> deliveries(NodeIndex node) {
    std::vector<NodeIndex> sources;
    for (const EdgeIndex incoming : graph_.incoming(node)) {
      if (!graph_.is_loop(incoming)) sources.push_back(graph_.source(incoming));
    }
    view_.expect(sources);
    std::vector<Delivery> result;
    for (const EdgeIndex incoming : graph_.incoming(node)) {
      if (graph_.is_loop(incoming)) continue;
      const EdgeView& seen = edge(incoming);
      if (seen.state != EdgeState::taken) continue;
      result.push_back({incoming, seen.order, map_output(graph_, incoming, state(graph_.source(incoming)).outputs)});
    }
    return result;
  }

  // `more` is what a loop edge brings.
  void make_ready(NodeIndex node, const std::vector<Delivery>& more) {
    std::vector<Delivery> brought = deliveries(node);
    brought.insert(brought.end(), more.begin(), more.end());
    const bool is_merge = graph_.node(node).type == NodeType::merge;
    const Value& seeds = node == workflow_.entry() ? view_.seeds() : nothing_;
    state(node).inputs =
        is_merge ? merge_inputs(graph_, node, brought, notes_) : collect_inputs(graph_, node, seeds, brought, notes_);
    move(node, NodeStatus::ready);
    switch (graph_.node(node).type) {
      case NodeType::task:
      case NodeType::gate:
      case NodeType::subgraph:
        newly_ready_.push_back(node);
        return;
      case NodeType::parallel:
        return complete(node, state(node).inputs);
      case NodeType::merge:
        return finish_merge(node);
      case NodeType::branch:
        return finish_branch(node);
      case NodeType::human:
        return ask(node);
    }
  }

  void finish_merge(NodeIndex node) {
    if (const auto parallel = workflow_.first_of(node)) {
      const std::vector<NodeIndex> others = workflow_.between(*parallel, node);
      view_.expect(others);
      for (const NodeIndex other : others) {
        if (!is_live(state(other).status)) continue;
        cancel(other);
        ended_.push_back(other);
      }
    }
    complete(node, state(node).inputs);
  }

  // GRF-6: a gate with `auto_approve` that passed answers the question that it leads to.
  void ask(NodeIndex node) {
    for (const EdgeIndex incoming : graph_.incoming(node)) {
      const auto& gate = graph_.node(graph_.source(incoming)).gate_config;
      if (!gate || !gate->auto_approve || edge(incoming).state != EdgeState::taken) continue;
      const Value* passed = state(graph_.source(incoming)).outputs.find("passed");
      if (passed == nullptr || passed->as_bool() == nullptr || !*passed->as_bool()) continue;
      Value own = Value::object();
      own.set("approved", Value::boolean(true));
      own.set("chosen_value", Value());
      own.set("comment", Value());
      own.set("decided_by", Value::string(fmt::format("gate {}", graph_.edge(incoming).source)));
      return complete(node, with_fields(state(node).inputs, own));
    }
    ask_person(node);
  }

  void ask_person(NodeIndex node) {
    move(node, NodeStatus::waiting_approval);
    const model::HumanConfig& human = *graph_.node(node).human_config;
    NewApproval asked{
        node,        state(node).iteration, human.title, human.description, model::unique_options(human.options),
        std::nullopt};
    if (asked.options.empty()) asked.options = model::default_options();
    if (human.expires && human.expires->after) asked.expires_at = moment_.now + *human.expires->after;
    approvals_.push_back(std::move(asked));
  }

  // GRF-5, GRF-9: the condition first; only the wish to loop once more than allowed gives `max_iterations_reached`.
  void finish_branch(NodeIndex node) {
    const model::BranchConfig& branch = *graph_.node(node).branch_config;
    const ConditionResult result = evaluate(branch.condition, state(node).inputs);
    note_doubt(node, result);
    model::BranchOutcome outcome = result.holds ? model::BranchOutcome::on_true : model::BranchOutcome::on_false;
    const std::string& side = result.holds ? branch.on_true : branch.on_false;
    std::int64_t iterations = 0;
    for (const EdgeIndex outgoing : graph_.outgoing(node)) {
      if (!graph_.is_loop(outgoing)) continue;
      iterations = std::max(iterations, loop(outgoing));
      if (graph_.edge(outgoing).target == side && loop(outgoing) >= workflow_.loop_limit(outgoing)) {
        outcome = model::BranchOutcome::max_iterations_reached;
        reason_ =
            fmt::format("{} reached its limit of {} iterations", base::quoted(graph_.node(node).id), loop(outgoing));
      }
    }
    Value own = Value::object();
    own.set("branch_outcome", Value::string(base::spell(outcome)));
    own.set("condition_result", Value::boolean(result.holds));
    own.set("iterations", Value::integer(iterations));
    complete(node, with_fields(state(node).inputs, own));
  }

  // --- edges ---

  void note_doubt(NodeIndex node, const ConditionResult& result) {
    if (!result.doubt.empty()) notes_.push_back({Note::Kind::doubtful_condition, node, result.doubt});
  }

  // Whether the edge is taken now that its source has completed (GRF-3).
  bool is_taken(EdgeIndex index) {
    const NodeIndex source = graph_.source(index);
    const model::Edge& words = graph_.edge(index);
    const Value& outputs = state(source).outputs;
    if (words.condition) {
      model::Condition condition = *words.condition;
      const std::string own_name = graph_.node(source).id + ".";
      if (condition.field.starts_with(own_name) && find_field(outputs, condition.field) == nullptr) {
        condition.field.erase(0, own_name.size());
      }
      const ConditionResult result = evaluate(condition, outputs);
      note_doubt(source, result);
      return result.holds;
    }
    const auto& branch = graph_.node(source).branch_config;
    if (!branch) return true;
    const Value* outcome = outputs.find("branch_outcome");
    const std::string chosen = outcome != nullptr && outcome->as_string() != nullptr ? *outcome->as_string() : "";
    return (chosen == "on_true" && words.target == branch->on_true) ||
           (chosen == "on_false" && words.target == branch->on_false);
  }

  void propagate() {
    for (std::size_t done = 0; !ended_.empty() && !model::is_over(status_); ++done) {
      // A loop of nodes that need nobody would turn within one decision as often as its limit allows.
      if (done >= most_settled) {
        return end(ExecutionStatus::failed, "it turns without anything to do: a loop needs a task, a gate or a person");
      }
      const NodeIndex node = ended_.front();
      ended_.pop_front();
      settle(node);
    }
  }

  void settle(NodeIndex node) {
    const bool is_completed = state(node).status == NodeStatus::completed;
    if (is_completed && try_loops(node)) return;
    std::vector<NodeIndex> targets;
    for (const EdgeIndex outgoing : graph_.outgoing(node)) {
      if (!graph_.is_loop(outgoing)) targets.push_back(graph_.target(outgoing));
    }
    view_.expect(targets);
    for (const EdgeIndex outgoing : graph_.outgoing(node)) {
      if (graph_.is_loop(outgoing) || edge(outgoing).state != EdgeState::open) continue;
      const bool taken = is_completed && is_taken(outgoing);
      edge(outgoing) = {taken ? EdgeState::taken : EdgeState::dead, taken ? ++tally_.edges_taken : 0};
      NodeState& target = state(graph_.target(outgoing));
      ++target.edges_decided;
      target.edges_taken += taken ? 1 : 0;
      consider(graph_.target(outgoing));
    }
  }

  // GRF-4. A node past `pending` ignores later edges.
  void consider(NodeIndex node) {
    if (state(node).status != NodeStatus::pending) return;
    const bool is_decided = state(node).edges_decided == workflow_.awaited(node);
    const bool is_taken = state(node).edges_taken > 0;
    if (is_taken && (is_decided || workflow_.wait_for(node) == model::WaitFor::any)) {
      make_ready(node, {});
    } else if (is_decided && !is_taken) {
      move(node, NodeStatus::skipped);
      ended_.push_back(node);
    }
  }

  // --- loops ---

  bool try_loops(NodeIndex node) {
    for (const EdgeIndex outgoing : graph_.outgoing(node)) {
      if (!graph_.is_loop(outgoing) || !is_taken(outgoing)) continue;
      if (loop(outgoing) >= workflow_.loop_limit(outgoing)) {
        reason_ = fmt::format("{} reached its limit of {} iterations", base::quoted(graph_.edge(outgoing).id),
                              loop(outgoing));
        continue;
      }
      take_loop(outgoing);
      return true;
    }
    return false;
  }

  // GRF-5: the body goes back to its beginning; what lies outside keeps its result.
  void take_loop(EdgeIndex index) {
    const NodeIndex source = graph_.source(index);
    const NodeIndex target = graph_.target(index);
    const Delivery brought{index, ++tally_.edges_taken, map_output(graph_, index, state(source).outputs)};
    const std::vector<NodeIndex> body = workflow_.loop_body(index);
    ++loop(index);
    view_.expect(body);
    for (const NodeIndex node : body) {
      if (is_live(state(node).status)) cancel(node);
      archive(node);
      reset(node, NodeReset::by_loop);
    }
    for (const NodeIndex node : body) {
      reopen(node);
      // Loops that lie within begin anew.
      for (const EdgeIndex inner : graph_.outgoing(node)) {
        const bool is_inner =
            graph_.is_loop(inner) && inner != index && std::ranges::binary_search(body, graph_.target(inner));
        if (is_inner) loop(inner) = 0;
      }
    }
    make_ready(target, {brought});
  }

  void archive(NodeIndex node) {
    const Draft::Touched& touched = touch(node);
    const NodeState& now = touched.now;
    if (now.status == NodeStatus::pending) return;
    archived_.push_back({node, now.status, now.attempt, now.iteration, now.inputs, now.outputs, touched.error});
  }

  void reset(NodeIndex node, NodeReset why) {
    move(node, NodeStatus::pending);
    Draft::Touched& touched = touch(node);
    if (touched.reset != NodeReset::by_loop) touched.reset = why;
    touched.error.reset();
    touched.now.iteration += why == NodeReset::by_loop ? 1 : 0;
    touched.now.attempt = 0;
    touched.now.not_before.reset();
    touched.now.inputs = Value();
    touched.now.outputs = Value();
  }

  // Takes back what the node's edges said. Those who were skipped for it may be reached after all.
  void reopen(NodeIndex node) {
    std::deque<NodeIndex> queue = {node};
    while (!queue.empty()) {
      const NodeIndex from = queue.front();
      queue.pop_front();
      for (const EdgeIndex outgoing : graph_.outgoing(from)) {
        if (graph_.is_loop(outgoing) || edge(outgoing).state == EdgeState::open) continue;
        NodeState& target = state(graph_.target(outgoing));
        --target.edges_decided;
        target.edges_taken -= edge(outgoing).state == EdgeState::taken ? 1 : 0;
        edge(outgoing) = {};
        if (target.status != NodeStatus::skipped) continue;
        reset(graph_.target(outgoing), NodeReset::reached_again);
        queue.push_back(graph_.target(outgoing));
      }
    }
  }

  // --- the execution ---

  // Everything that lives ends with it (GRF-7).
  void end(ExecutionStatus to, const std::string& reason) {
    std::vector<NodeIndex> live = view_.live_nodes();
    view_.expect(live);
    const std::size_t known = live.size();
    for (const NodeIndex node : draft_.touched_nodes()) {
      const bool is_known = std::binary_search(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(known), node);
      if (is_live(state(node).status) && !is_known) live.push_back(node);
    }
    for (const NodeIndex node : live) {
      if (is_live(state(node).status)) cancel(node);
    }
    // What was to begin with this very decision never begins.
    std::erase_if(actions_, [](const Action& action) { return !std::holds_alternative<CancelNode>(action); });
    approvals_.clear();
    children_.clear();
    newly_ready_.clear();
    cancels_pending_ = true;
    status_ = to;
    end_reason_ = reason;
    ended_.clear();
  }

  void check_end() {
    if (model::is_over(status_)) return;
    if (tally_.live() > 0) {
      status_ = tally_.ready + tally_.running == 0 ? ExecutionStatus::waiting_approval : ExecutionStatus::running;
      return;
    }
    const bool may_fail = !workflow_.workflow().config.fail_fast || tally_.failed == 0;
    if (tally_.exits_completed > 0 && may_fail) {
      status_ = ExecutionStatus::completed;
    } else {
      status_ = ExecutionStatus::failed;
      end_reason_ = reason_.empty() ? "no exit point was reached" : reason_;
    }
  }

  ExecutionDecision collect() {
    ExecutionDecision decision = draft_.collect(status_, end_reason_);
    decision.cancels_pending = cancels_pending_;
    decision.archived = std::move(archived_);
    decision.approvals = std::move(approvals_);
    decision.children = std::move(children_);
    decision.actions = std::move(actions_);
    decision.notes = std::move(notes_);
    return decision;
  }

  const ExecutionView& view_;
  const Moment& moment_;
  const CompiledWorkflow& workflow_;
  const Graph& graph_;
  const Value nothing_;
  Draft draft_;
  Tally& tally_;
  ExecutionStatus status_;
  std::optional<std::string> end_reason_;
  // Why it may end without an exit.
  std::string reason_;
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

}  // namespace

ExecutionDecision decide(const ExecutionView& view, const ExecutionEvent& event, const Moment& moment) {
  return Decider(view, moment).decide(event);
}

}  // namespace reeve::engine
