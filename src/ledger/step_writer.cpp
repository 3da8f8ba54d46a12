#include "ledger/step_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/subgraph.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "ledger/questions.h"
#include "ledger/risk.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using engine::ExecutionChange;
using engine::ExecutionDecision;
using engine::ExecutionEvent;
using engine::NodeChange;
using engine::NodeReset;
using graph::NodeIndex;
using model::NodeStatus;
using store::Row;
using store::Sql;

namespace {

// The maximum number of executions that one step may affect: nested children, and back up.
constexpr std::size_t max_follow_ups = 100'000;

std::string list_nodes(const model::Workflow& workflow) {
  Value::Array nodes;
  nodes.reserve(workflow.nodes.size());
  for (const model::Node& node : workflow.nodes) {
    nodes.push_back(Value::array({Value::string(node.id), Value::string(base::spell(node.type))}));
  }
  return json::encode(Value::array(std::move(nodes)));
}

// The node of an event, or the first node for other events.
NodeIndex node_of(const ExecutionEvent& event) {
  return std::visit(
      [](const auto& e) -> NodeIndex {
        if constexpr (requires { e.node; }) {
          return e.node;
        } else {
          return 0;
        }
      },
      event);
}

std::optional<std::string> encode_optional(const std::optional<Value>& value) {
  return value ? std::optional(json::encode(*value)) : std::nullopt;
}

}  // namespace

std::int64_t StepWriter::insert(const std::string& hash, const model::Workflow& workflow, const std::string& subgraphs,
                                const Value& inputs, const StoredExecution* parent, const engine::NewChild* child,
                                const NewExecution* wanted) {
  const std::optional<std::int64_t> parent_number = parent ? std::optional(parent->number()) : std::nullopt;
  const std::optional<std::int64_t> parent_node = child ? std::optional<std::int64_t>(child->node) : std::nullopt;
  const std::optional<std::string> label = wanted ? wanted->label : std::nullopt;
  const std::optional<std::string> phase = wanted ? wanted->phase_name : std::nullopt;
  Value metadata = Value::object();
  if (wanted != nullptr) {
    for (const auto& [key, text] : wanted->metadata) metadata.set(key, Value::string(text));
  }
  const std::optional<std::string> config = wanted ? encode_optional(wanted->config) : std::nullopt;
  const std::optional<std::string> home = wanted ? wanted->home : parent->home();
  const std::int64_t number = session().insert(Sql::execution_insert, "executions",
                                               {{"workflow_hash", hash},
                                                {"subgraphs", subgraphs},
                                                {"label", label},
                                                {"phase_name", phase},
                                                {"metadata", json::encode(metadata)},
                                                {"parent", parent_number},
                                                {"parent_node", parent_node},
                                                {"depth", parent ? parent->depth() + 1 : 0},
                                                {"inputs", json::encode(inputs)},
                                                {"config", config},
                                                {"home", home},
                                                {"now", transaction_.now_text()},
                                                {"project", wanted ? wanted->project : std::nullopt}});
  session().write_any(Sql::nodes_insert, {{"execution", number}, {"nodes", list_nodes(workflow)}});
  Value data = Value::object();
  data.set("execution_id", Value::string(base::ExecutionId(number).text()));
  data.set("status", Value::string("running"));
  data.set("workflow", Value::string(workflow.name));
  if (parent != nullptr && child != nullptr) {
    data.set("parent_execution_id", Value::string(base::ExecutionId(parent->number()).text()));
    data.set("parent_node_id", Value::string(parent->workflow().graph().node(child->node).id));
  }
  transaction_.tell(model::EventKind::execution_status_change, data,
                    {.status = model::ExecutionStatus::running,
                     .execution = base::ExecutionId(number),
                     .is_child = parent != nullptr});
  executions_.open_new(transaction_, number,
                       {.hash = hash,
                        .parent = parent_number,
                        .parent_node = child ? child->node : NodeIndex(0),
                        .depth = parent ? parent->depth() + 1 : 0,
                        .home = home,
                        .seeds = inputs,
                        .subgraphs = subgraphs});
  return number;
}

std::int64_t StepWriter::start(const NewExecution& wanted) {
  Workflows::put(session(), wanted.hash, wanted.workflow, transaction_.now_text());
  Value subgraphs = Value::object();
  for (const auto& [name, subgraph] : wanted.subgraphs) {
    Workflows::put(session(), subgraph.hash, subgraph.workflow, transaction_.now_text());
    subgraphs.set(name, Value::string(subgraph.hash));
  }
  return insert(wanted.hash, wanted.workflow, json::encode(subgraphs), wanted.inputs, nullptr, nullptr, &wanted);
}

bool StepWriter::step(std::int64_t execution, const ExecutionEvent& event, const Claim* claim,
                      const std::optional<ExecutionTickets>& tickets) {
  StoredExecution* view = executions_.open(transaction_, execution, tickets);
  if (view == nullptr) return false;
  if (claim != nullptr) {
    if (claim->node >= view->workflow().graph().node_count()) return false;
    if (!is_held(view->row(claim->node), *claim)) {
      result_.is_stale = true;
      return true;
    }
  }
  result_.is_stale = !decide_and_write(*view, event);
  return true;
}

void StepWriter::follow() {
  for (std::size_t done = 0; !follow_ups_.empty(); ++done) {
    if (done >= max_follow_ups) {
      throw base::Error(ErrorCode::execution_endless, "this step affects too many executions",
                        "add a task, gate or human node to subgraphs in loops, or lower max_iterations");
    }
    const FollowUp next = std::move(follow_ups_.front());
    follow_ups_.pop_front();
    StoredExecution* view = executions_.open(transaction_, next.execution);
    if (view == nullptr) continue;
    const NodeIndex node = node_of(next.event);
    if (next.child && view->row(node).links.child != next.child) continue;
    if (next.approval && view->row(node).links.approval != next.approval) continue;
    const bool is_taken = decide_and_write(*view, next.event);
    // The child has nothing to retry, so its node must not wait for it.
    const bool is_spent = !is_taken && std::holds_alternative<engine::RetryRequested>(next.event);
    if (is_spent && view->parent()) conclude_child(*view, view->status(), "nothing in it can be retried");
  }
}

bool StepWriter::decide_and_write(StoredExecution& view, const ExecutionEvent& event) {
  // Work already started by this unit uses up slots.
  const auto begun = static_cast<std::size_t>(
      std::ranges::count_if(result_.work, [](const Work& work) { return std::holds_alternative<StartWork>(work); }));
  const bool is_at_home = !view.home() || *view.home() == worker_.host;
  const std::size_t room = is_at_home ? worker_.room - std::min(worker_.room, begun) : 0;
  const ExecutionDecision decision = engine::decide(view, event, {transaction_.now(), room});
  if (decision.is_stale) return false;
  write(view, decision);
  return true;
}

void StepWriter::write(StoredExecution& view, const ExecutionDecision& decision) {
  const graph::Graph& graph = view.workflow().graph();
  // A node's row also contains its outgoing edges.
  std::map<NodeIndex, const NodeChange*> dirty;
  for (const NodeChange& change : decision.nodes) dirty[change.node] = &change;
  for (const engine::EdgeChange& change : decision.edges) {
    const NodeIndex source = graph.source(change.edge);
    const auto outgoing = graph.outgoing(source);
    const auto position = static_cast<std::size_t>(std::ranges::lower_bound(outgoing, change.edge) - outgoing.begin());
    const bool is_dead = change.to == model::EdgeState::dead;
    view.row(source).edges[position] = is_dead ? -1 : change.order;
    dirty.try_emplace(source, nullptr);
  }
  // Done first, while the rows still name what must be closed. A reset node may ask or start again in this same step.
  for (const engine::Action& action : decision.actions) {
    if (std::holds_alternative<engine::CancelNode>(action)) take_action(view, action);
  }
  for (const engine::NewApproval& asked : decision.approvals) ask(view, asked);
  for (const engine::NewChild& child : decision.children) begin_child(view, child);
  for (const engine::ArchivedNode& archived : decision.archived) archive(view, archived);
  notes_.clear();
  for (const engine::Note& note : decision.notes) notes_[note.node].push_back(note.text);
  for (const auto& [node, change] : dirty) write_node(view, node, change);
  for (const engine::LoopChange& change : decision.loops) {
    session().write_any(Sql::loop_write, {{"execution", view.number()},
                                          {"edge", change.edge},
                                          {"loop_key", graph.edge(change.edge).id},
                                          {"count", change.taken}});
  }
  if (decision.cancels_pending) cancel_pending(view);
  if (decision.execution) write_execution(view, *decision.execution);
  std::vector<NodeIndex> written;
  for (const auto& [node, _] : dirty) written.push_back(node);
  view.apply(decision, written);
  for (const engine::Action& action : decision.actions) {
    if (!std::holds_alternative<engine::CancelNode>(action)) take_action(view, action);
  }
  const bool is_over = decision.execution && model::is_over(decision.execution->to);
  if (is_over && view.parent()) conclude_child(view, decision.execution->to, decision.execution->reason);
  // GRF-7: while the child waits for a person, its node does too.
  const bool has_moved = decision.execution && decision.execution->from != decision.execution->to;
  if (has_moved && !is_over && view.parent()) {
    const bool waits = decision.execution->to == model::ExecutionStatus::waiting_approval;
    follow_ups_.push_back({*view.parent(),
                           waits ? ExecutionEvent(engine::NodeWaits{view.parent_node()})
                                 : ExecutionEvent(engine::NodeGoesOn{view.parent_node()}),
                           view.number()});
  }
  if (is_over && !view.parent()) {
    result_.ended.push_back({base::ExecutionId(view.number()), decision.execution->to});
  }
  if (decision.cancels_pending) executions_.forget(view.number());
}

void StepWriter::ask(StoredExecution& view, const engine::NewApproval& asked) {
  store::ApprovalRow row;
  row.approval.kind = model::ApprovalKind::human;
  row.approval.delivery = model::Delivery::node;
  row.node = asked.node;
  row.iteration = asked.iteration;
  row.approval.execution_id = base::ExecutionId(view.number());
  row.approval.node_id = view.workflow().graph().node(asked.node).id;
  row.approval.question = asked.question;
  row.approval.options = asked.options;
  row.approval.expires_at = asked.expires_at;
  row.approval.arguments = make_node_arguments(asked.description, asked.inputs);
  assess_workflow_question(transaction_, view, row.approval);
  view.row(asked.node).links.approval = open_question(transaction_, std::move(row)).number();
}

void StepWriter::begin_child(StoredExecution& view, const engine::NewChild& child) {
  NodeRow& row = view.row(child.node);
  if (child.resumes && row.links.child && resume_child(*row.links.child)) return;
  const auto fail = [&](std::string why) {
    follow_ups_.push_back(
        {view.number(), engine::NodeFailed{child.node, model::RetryOn::failed, std::move(why)}, std::nullopt});
  };
  const std::string subgraphs = view.subgraphs();
  const auto names = json::parse(subgraphs);
  const Value* hash = names ? names->find(child.workflow_name) : nullptr;
  if (hash == nullptr || hash->as_string() == nullptr) {
    return fail(fmt::format("there is no workflow {}", base::quoted(child.workflow_name)));
  }
  if (view.depth() + 1 > static_cast<int>(base::limits::subgraph_depth)) return fail("subgraphs are nested too deep");
  const auto loaded = executions_.workflows_.get(session(), *hash->as_string());
  Value seeds = child.seeds;
  if (loaded->workflow.inputs) {
    // A mapping names only declared inputs; without one, all inputs of the node arrive.
    auto checked = model::check_inputs(*loaded->workflow.inputs, seeds, model::Undeclared::drop);
    if (!checked) {
      return fail(fmt::format("{}: {}", base::quoted(child.workflow_name), checked.error().front().message));
    }
    seeds = std::move(*checked);
  }
  const std::int64_t number = insert(*hash->as_string(), loaded->workflow, subgraphs, seeds, &view, &child, nullptr);
  row.links.child = number;
  follow_ups_.push_back({number, engine::ExecutionStarted{}, std::nullopt});
}

// GRF-14: resumes the node's previous child, even if it was cancelled with the node. False if it cannot be resumed: it
// ended without a failed node.
bool StepWriter::resume_child(std::int64_t child) {
  StoredExecution* view = executions_.open(transaction_, child);
  if (view == nullptr) return false;
  switch (view->status()) {
    case model::ExecutionStatus::running:
    case model::ExecutionStatus::waiting_approval:
      // Already resumed: the node will end with it.
      return true;
    case model::ExecutionStatus::completed:
      conclude_child(*view, view->status(), std::nullopt);
      return true;
    case model::ExecutionStatus::failed:
      if (view->tally().failed == 0) return false;
      break;
    case model::ExecutionStatus::cancelled:
      break;
  }
  follow_ups_.push_back({child, engine::RetryRequested{.is_part = true}});
  return true;
}

void StepWriter::archive(StoredExecution& view, const engine::ArchivedNode& archived) {
  const auto encode = [](const Value& value) {
    return value.is_null() ? std::nullopt : std::optional(json::encode(value));
  };
  session().write(Sql::node_archive, {{"iteration", archived.iteration},
                                      {"attempt", archived.attempt},
                                      {"status", archived.status},
                                      {"inputs", encode(archived.inputs)},
                                      {"outputs", encode(archived.outputs)},
                                      {"error", archived.error},
                                      {"now", transaction_.now_text()},
                                      {"slot", slot_of(view.number(), archived.node)}});
  // It reached this status in this step, and no event has been sent yet.
  if (view.row(archived.node).state.status != archived.status) {
    tell_node(view, archived.node, archived.status, archived.iteration, archived.attempt, archived.error);
  }
}

void StepWriter::write_node(StoredExecution& view, NodeIndex node, const NodeChange* change) {
  NodeRow& row = view.row(node);
  const engine::NodeState& before = row.state;
  const std::int64_t slot = slot_of(view.number(), node);
  const bool is_reset = change != nullptr && change->reset != NodeReset::none;
  const NodeStatus to = change != nullptr ? change->to : before.status;
  const bool begins = change != nullptr && to == NodeStatus::running && (is_reset || change->attempt > before.attempt);
  if (begins) {
    // A new claim: writes with an older one are refused from now on. A subgraph is not claimed; its child's nodes are.
    const bool is_work = view.workflow().graph().node(node).type != model::NodeType::subgraph;
    row.daemon = is_work && worker_.daemon != 0 ? std::optional(worker_.daemon) : std::nullopt;
    ++row.epoch;
    row.is_spawned = false;
    row.links.run.reset();
  }
  if (is_reset && to != NodeStatus::waiting_approval) row.links.approval.reset();
  if (is_reset && change->reset == NodeReset::by_loop && to != NodeStatus::running) row.links.child.reset();
  if (is_reset) ++row.resets;
  const std::optional<std::string> inputs = change != nullptr ? encode_optional(change->inputs) : std::nullopt;
  const std::optional<std::string> outputs = change != nullptr ? encode_optional(change->outputs) : std::nullopt;
  const std::optional<std::string> error = change != nullptr ? change->error : std::nullopt;
  const bool waits = change != nullptr && change->not_before.has_value();
  const std::optional<std::string> not_before =
      waits ? std::optional(base::format_time(*change->not_before)) : std::nullopt;
  const bool has_started = begins || to == NodeStatus::waiting_approval;
  const std::optional<std::string> now = transaction_.now_text();
  session().write(Sql::node_update,
                  {{"status", to},
                   {"attempt", change != nullptr ? change->attempt : before.attempt},
                   {"iteration", change != nullptr ? change->iteration : before.iteration},
                   {"resets", row.resets},
                   {"edges_decided", change != nullptr ? change->edges_decided : before.edges_decided},
                   {"edges_taken", change != nullptr ? change->edges_taken : before.edges_taken},
                   {"edges", format_edges(row.edges)},
                   {"inputs", inputs},
                   {"outputs", outputs},
                   {"error", error},
                   {"not_before", not_before},
                   {"daemon", row.daemon},
                   {"epoch", row.epoch},
                   {"spawned", row.is_spawned ? 1 : 0},
                   {"begins", begins ? 1 : 0},
                   {"started_at", has_started ? now : std::nullopt},
                   {"completed_at", is_over(to) ? now : std::nullopt},
                   {"slot", slot},
                   {"version", row.version},
                   {"from", before.status}});
  if (row.links != row.stored_links) {
    session().write(
        Sql::node_link,
        {{"run", row.links.run}, {"approval", row.links.approval}, {"child", row.links.child}, {"slot", slot}});
  }
  const model::Node& words = view.workflow().graph().node(node);
  const bool is_work = words.task_config || words.gate_config;
  if (words.apply && !is_work && to == NodeStatus::completed && before.status != to) {
    result_.wants_apply.emplace_back(view.number());
  }
  if (change != nullptr && (change->from != change->to || is_reset)) {
    tell_node(view, node, to, change->iteration, change->attempt, change->error);
  }
}

void StepWriter::cancel_pending(StoredExecution& view) {
  const std::int64_t first = slot_of(view.number(), 0);
  session().query(Sql::nodes_cancel_pending,
                  {{"now", transaction_.now_text()}, {"first", first}, {"last", first + nodes_per_execution - 1}},
                  [&](const Row& row) {
                    tell_node(view, static_cast<NodeIndex>(row.integer(0)), NodeStatus::cancelled,
                              static_cast<int>(row.integer(1)), static_cast<int>(row.integer(2)), std::nullopt);
                  });
}

void StepWriter::write_execution(StoredExecution& view, const ExecutionChange& change) {
  const engine::Tally& tally = change.tally;
  const bool is_over = model::is_over(change.to);
  session().write(Sql::execution_update,
                  {{"status", change.to},
                   {"reason", change.reason},
                   {"ready", tally.ready},
                   {"running", tally.running},
                   {"waiting", tally.waiting},
                   {"failed", tally.failed},
                   {"exits_completed", tally.exits_completed},
                   {"edges_taken", tally.edges_taken},
                   {"completed_at", is_over ? std::optional(transaction_.now_text()) : std::nullopt},
                   {"execution", view.number()},
                   {"version", view.version()},
                   {"from", change.from}});
  if (change.from == change.to) return;
  Value data = Value::object();
  data.set("execution_id", Value::string(base::ExecutionId(view.number()).text()));
  data.set("status", Value::string(base::spell(change.to)));
  if (change.reason) data.set("reason", Value::string(*change.reason));
  if (view.parent()) data.set("parent_execution_id", Value::string(base::ExecutionId(*view.parent()).text()));
  transaction_.tell(
      model::EventKind::execution_status_change, data,
      {.status = change.to, .execution = base::ExecutionId(view.number()), .is_child = view.parent().has_value()});
}

// GRF-11: the child's end is reported to its node.
void StepWriter::conclude_child(StoredExecution& view, model::ExecutionStatus status,
                                const std::optional<std::string>& reason) {
  engine::ChildEnd end{status, reason, {}};
  std::vector<NodeIndex> exits;
  for (NodeIndex node = 0; node < view.workflow().graph().node_count(); ++node) {
    if (view.workflow().is_exit(node)) exits.push_back(node);
  }
  view.expect(exits);
  for (const NodeIndex node : exits) {
    const engine::NodeState& state = view.node(node);
    if (state.status == NodeStatus::completed) end.exits.emplace(node, state.outputs);
  }
  const StoredExecution* parent = executions_.open(transaction_, *view.parent());
  if (parent == nullptr) return;
  follow_ups_.push_back({*view.parent(),
                         engine::conclude_child(parent->workflow(), view.parent_node(), view.workflow(), end),
                         view.number()});
}

void StepWriter::take_action(StoredExecution& view, const engine::Action& action) {
  const base::ExecutionId execution(view.number());
  if (const auto* start = std::get_if<engine::StartNode>(&action)) {
    const NodeRow& row = view.row(start->node);
    result_.work.emplace_back(StartWork{
        {execution, start->node, start->iteration, start->attempt, row.epoch}, view.loaded(), row.state.inputs});
  } else if (const auto* offer = std::get_if<engine::OfferNode>(&action)) {
    result_.work.emplace_back(OfferWork{execution, offer->not_before});
  } else if (const auto* cancel = std::get_if<engine::CancelNode>(&action)) {
    const NodeRow& row = view.row(cancel->node);
    const model::NodeType type = view.workflow().graph().node(cancel->node).type;
    if (type == model::NodeType::human) {
      const auto asked =
          row.links.approval ? lock_question(transaction_, base::ApprovalId(*row.links.approval)) : std::nullopt;
      const bool is_open = asked && asked->approval.status == model::ApprovalStatus::pending;
      if (is_open) close_question(transaction_, *asked, {.reason = "the node that asked has ended"});
    } else if (type == model::NodeType::subgraph) {
      if (row.links.child && is_begun(row.state.status)) {
        follow_ups_.push_back({*row.links.child, engine::CancelRequested{"its node was cancelled"}, std::nullopt});
      }
    } else if (is_begun(row.state.status)) {
      const std::optional<base::RunId> run = row.links.run ? std::optional(base::RunId(*row.links.run)) : std::nullopt;
      result_.work.emplace_back(
          CancelWork{{execution, cancel->node, cancel->iteration, cancel->attempt, row.epoch}, run});
    }
  }
}

void StepWriter::tell_node(const StoredExecution& view, NodeIndex node, NodeStatus status, int iteration, int attempt,
                           const std::optional<std::string>& error) {
  Value data = Value::object();
  data.set("execution_id", Value::string(base::ExecutionId(view.number()).text()));
  data.set("node_id", Value::string(view.workflow().graph().node(node).id));
  data.set("status", Value::string(base::spell(status)));
  data.set("iteration", Value::integer(iteration));
  data.set("attempt", Value::integer(attempt));
  if (error) data.set("error", Value::string(*error));
  // GRF-2, GRF-8: notes of the decision.
  if (const auto notes = notes_.find(node); notes != notes_.end()) data.set("notes", json::to_value(notes->second));
  transaction_.tell(model::EventKind::node_status_change, data,
                    {.status = status, .execution = base::ExecutionId(view.number())});
}

}  // namespace reeve::ledger
