#include "engine/execution.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/decider.h"

namespace reeve::engine {

using model::NodeType;

namespace {

ExecutionDecision stale() {
  ExecutionDecision decision;
  decision.is_stale = true;
  return decision;
}

void sort_and_unite(std::vector<graph::NodeIndex>& nodes) {
  std::ranges::sort(nodes);
  const auto [first, last] = std::ranges::unique(nodes);
  nodes.erase(first, last);
}

}  // namespace

ExecutionDecision Decider::decide(const ExecutionEvent& event) {
  const auto* retry = std::get_if<RetryRequested>(&event);
  const bool is_retry = retry != nullptr && (status_ == ExecutionStatus::failed ||
                                             (retry->is_part && status_ == ExecutionStatus::cancelled));
  if (model::is_over(status_) && !is_retry) return stale();
  const bool is_taken = std::visit([&](const auto& e) { return handle(e); }, event);
  if (!is_taken) return stale();
  propagate();
  claim_ready();
  check_end();
  return collect();
}

bool Decider::handle(const ExecutionStarted&) {
  if (state(workflow_.entry()).status != NodeStatus::pending) return false;
  make_ready(workflow_.entry(), {});
  return true;
}

bool Decider::handle(const NodeBegan& event) {
  const NodeState& now = state(event.node);
  const bool may_begin = now.status == NodeStatus::ready && now.not_before.value_or(moment_.now) <= moment_.now;
  if (!may_begin || !has_slot() || view_.is_paused()) return false;
  begin(event.node);
  return true;
}

bool Decider::handle(const NodeFinished& event) {
  const NodeStatus status = state(event.node).status;
  if (status != NodeStatus::running && status != NodeStatus::waiting_approval) return false;
  const bool is_human = graph_.node(event.node).type == NodeType::human;
  if (!event.said_yes && !workflow_.treats_failure_as_result(event.node)) {
    touch(event.node).now.outputs = event.outputs;
    const std::string plain = is_human ? "it was rejected" : "the gate did not pass";
    fail(event.node, event.why_no.empty() ? plain : event.why_no);
  } else {
    complete(event.node, is_human ? with_fields(state(event.node).inputs, event.outputs) : event.outputs);
  }
  return true;
}

bool Decider::handle(const NodeFailed& event) {
  const NodeStatus status = state(event.node).status;
  if (!is_live(status)) return false;
  const auto& task = graph_.node(event.node).task_config;
  const auto& retry = task ? task->retry : std::nullopt;
  const bool may_retry = retry && !event.is_final && status == NodeStatus::running &&
                         state(event.node).attempt < retry->attempts &&
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

bool Decider::handle(const NodeWaits& event) {
  if (state(event.node).status != NodeStatus::running) return false;
  move(event.node, NodeStatus::waiting_approval);
  return true;
}

bool Decider::handle(const NodeGoesOn& event) {
  // A human node cannot resume without its answer.
  const bool is_human = graph_.node(event.node).type == NodeType::human;
  if (is_human || state(event.node).status != NodeStatus::waiting_approval) return false;
  move(event.node, NodeStatus::running);
  return true;
}

bool Decider::handle(const CancelRequested& event) {
  end(ExecutionStatus::cancelled, event.reason);
  return true;
}

bool Decider::handle(const RoomOffered&) const { return tally_.ready > 0; }

void Decider::begin(NodeIndex node) {
  move(node, NodeStatus::running);
  NodeState& now = state(node);
  ++now.attempt;
  now.not_before.reset();
  const auto& subgraph = graph_.node(node).subgraph_config;
  if (!subgraph) {
    actions_.emplace_back(StartNode{node, now.iteration, now.attempt});
  } else {
    // Only a retry starts a subgraph again within an iteration.
    const bool resumes = now.attempt > 1;
    children_.push_back({node, now.iteration, now.attempt, subgraph->workflow_name,
                         map_fields(now.inputs, subgraph->input_mapping), resumes});
  }
}

void Decider::claim_ready() {
  if (model::is_over(status_)) return;
  // A loop may have reset nodes after they became ready, or made them ready again.
  std::erase_if(newly_ready_, [&](NodeIndex node) { return state(node).status != NodeStatus::ready; });
  sort_and_unite(newly_ready_);
  std::size_t room = moment_.room;
  std::vector<NodeIndex> candidates;
  if (has_slot() && tally_.ready > 0 && !view_.is_paused()) {
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

void Decider::end(ExecutionStatus to, const std::string& reason) {
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
  // Nothing that this decision was about to start is started.
  std::erase_if(actions_, [](const Action& action) { return !std::holds_alternative<CancelNode>(action); });
  approvals_.clear();
  children_.clear();
  newly_ready_.clear();
  cancels_pending_ = true;
  status_ = to;
  end_reason_ = reason;
  ended_.clear();
}

void Decider::check_end() {
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
    end_reason_ = find_reason();
  }
}

std::string Decider::describe_failure(const FailedNode& failed) const {
  return fmt::format("{}, at node {}", failed.error, base::quoted(graph_.node(failed.node).id));
}

// GRF-7: of several failures, the first in file order, so that the reason is deterministic.
std::string Decider::find_reason() {
  if (tally_.failed > 0) {
    for (const FailedNode& failed : view_.failed_nodes()) {
      if (failed_ && failed_->first <= failed.node) break;
      if (state(failed.node).status == NodeStatus::failed) return describe_failure(failed);
    }
    if (failed_) return failed_->second;
  }
  return reason_.empty() ? "no exit point was reached" : reason_;
}

ExecutionDecision Decider::collect() {
  ExecutionDecision decision = draft_.collect(status_, end_reason_);
  decision.cancels_pending = cancels_pending_;
  decision.archived = std::move(archived_);
  decision.approvals = std::move(approvals_);
  decision.children = std::move(children_);
  decision.actions = std::move(actions_);
  decision.notes = std::move(notes_);
  return decision;
}

ExecutionDecision decide(const ExecutionView& view, const ExecutionEvent& event, const Moment& moment) {
  return Decider(view, moment).decide(event);
}

}  // namespace reeve::engine
