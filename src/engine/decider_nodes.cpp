#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/decider.h"

namespace reeve::engine {

using model::EdgeState;
using model::NodeType;

void Decider::complete(NodeIndex node, Value outputs) {
  move(node, NodeStatus::completed);
  state(node).outputs = std::move(outputs);
  ended_.push_back(node);
}

void Decider::fail(NodeIndex node, const std::string& error) {
  move(node, NodeStatus::failed);
  touch(node).error = error;
  reason_ = describe_failure({node, error});
  if (!failed_ || node < failed_->first) failed_.emplace(node, reason_);
  if (workflow_.workflow().config.fail_fast) {
    end(ExecutionStatus::failed, reason_);
  } else {
    ended_.push_back(node);
  }
}

void Decider::cancel(NodeIndex node) {
  state(node).not_before.reset();
  std::erase_if(approvals_, [&](const NewApproval& asked) { return asked.node == node; });
  actions_.emplace_back(CancelNode{node, state(node).iteration, state(node).attempt});
  move(node, NodeStatus::cancelled);
}

std::vector<Delivery> Decider::deliveries(NodeIndex node) {
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

void Decider::make_ready(NodeIndex node, const std::vector<Delivery>& more) {
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

void Decider::finish_merge(NodeIndex node) {
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

void Decider::ask(NodeIndex node) {
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

void Decider::ask_person(NodeIndex node) {
  move(node, NodeStatus::waiting_approval);
  const model::HumanConfig& human = *graph_.node(node).human_config;
  NewApproval asked{
      node,         state(node).iteration, human.title, human.description, model::unique_options(human.options),
      std::nullopt, state(node).inputs};
  if (asked.options.empty()) asked.options = model::default_options();
  if (human.expires && human.expires->after) asked.expires_at = moment_.now + *human.expires->after;
  approvals_.push_back(std::move(asked));
}

void Decider::finish_branch(NodeIndex node) {
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

}  // namespace reeve::engine
