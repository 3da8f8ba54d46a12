#include "ledger/executions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ledger/step_writer.h"

namespace reeve::ledger {

using engine::ExecutionEvent;
using graph::NodeIndex;

namespace {

[[noreturn]] void throw_not_found(base::ExecutionId execution) {
  throw base::Error(base::ErrorCode::execution_not_found, fmt::format("there is no execution {}", execution.text()),
                    "`reeve flow list` lists all executions");
}

}  // namespace

bool is_held(const NodeRow& row, const Claim& claim) {
  return is_begun(row.state.status) && row.state.iteration == claim.iteration && row.state.attempt == claim.attempt &&
         row.epoch == claim.epoch;
}

base::ExecutionId Executions::start(Transaction& transaction, const NewExecution& wanted, const WorkerCapacity& worker,
                                    StepResult& result) {
  StepWriter writer(*this, transaction, worker, result);
  const std::int64_t number = writer.start(wanted);
  writer.step(number, engine::ExecutionStarted{}, nullptr, {});
  writer.follow();
  return base::ExecutionId(number);
}

void Executions::step(Transaction& transaction, base::ExecutionId execution, const ExecutionEvent& event,
                      const WorkerCapacity& worker, StepResult& result,
                      const std::optional<ExecutionTickets>& tickets) {
  StepWriter writer(*this, transaction, worker, result);
  if (!writer.step(execution.number(), event, nullptr, tickets)) throw_not_found(execution);
  writer.follow();
}

void Executions::conclude(Transaction& transaction, const Claim& claim, const ExecutionEvent& event,
                          const WorkerCapacity& worker, StepResult& result,
                          const std::optional<ExecutionTickets>& tickets) {
  StepWriter writer(*this, transaction, worker, result);
  if (!writer.step(claim.execution.number(), event, &claim, tickets)) throw_not_found(claim.execution);
  writer.follow();
}

void Executions::answer(Transaction& transaction, base::ExecutionId execution, base::ApprovalId approval,
                        const engine::NodeFinished& answered, const WorkerCapacity& worker, StepResult& result) {
  StepWriter writer(*this, transaction, worker, result);
  writer.answer(execution.number(), approval.number(), answered);
  writer.follow();
}

void Executions::follow_run(Transaction& transaction, const Transaction::NodeWait& wait, const WorkerCapacity& worker,
                            StepResult& result) {
  const StoredExecution* view = open(transaction, wait.execution.number());
  const auto node = view != nullptr ? view->workflow().graph().find(wait.node) : std::nullopt;
  if (!node || view->row(*node).links.run != wait.run.number()) return;
  const ExecutionEvent event =
      wait.waits ? ExecutionEvent(engine::NodeWaits{*node}) : ExecutionEvent(engine::NodeGoesOn{*node});
  StepWriter writer(*this, transaction, worker, result);
  writer.step(wait.execution.number(), event, nullptr, {});
  writer.follow();
}

std::optional<Executions::Held> Executions::load(Transaction& transaction, const Claim& claim) {
  const StoredExecution* view = open(transaction, claim.execution.number());
  if (view == nullptr || claim.node >= view->workflow().graph().node_count()) return std::nullopt;
  const NodeRow& row = view->row(claim.node);
  if (!is_held(row, claim)) return std::nullopt;
  Held held{{claim, view->loaded(), row.state.inputs}, std::nullopt};
  if (row.links.run) held.run = base::RunId(*row.links.run);
  return held;
}

std::vector<std::int64_t> Executions::lock_tree(Transaction& transaction, base::ExecutionId root) {
  std::vector<std::int64_t> tree;
  const StoredExecution* first = open(transaction, root.number());
  if (first == nullptr) return tree;
  tree.push_back(root.number());
  // A child is added only while its parent is locked, so the list is complete.
  for (std::size_t next = 0; next < tree.size(); ++next) {
    std::vector<std::pair<std::int64_t, model::ExecutionStatus>> children;
    transaction.session().query(store::Sql::execution_children, {{"parent", tree[next]}}, [&](const store::Row& row) {
      children.emplace_back(row.integer(0), row.word<model::ExecutionStatus>(1));
    });
    for (const auto& [number, status] : children) {
      if (!model::is_over(status)) open(transaction, number);
      tree.push_back(number);
    }
  }
  return tree;
}

ExecutionTickets Executions::prefetch(Transaction& transaction, base::ExecutionId execution, NodeIndex node) {
  follow_moment(transaction);
  std::vector<NodeIndex> nodes;
  const auto found = seen_.find(execution.number());
  if (found != seen_.end()) {
    // A step touches the neighbours of its node; the predecessor of a sole successor is the node itself.
    const graph::Graph& graph = found->second->compiled.graph();
    nodes.push_back(node);
    for (const graph::EdgeIndex edge : graph.outgoing(node)) {
      if (!graph.is_loop(edge)) nodes.push_back(graph.target(edge));
    }
  }
  const bool is_first = sent_.insert(execution.number()).second;
  const auto header = is_first ? StoredExecution::Header::send : StoredExecution::Header::leave;
  return StoredExecution::send(transaction.session(), execution.number(), header, nodes);
}

StoredExecution* Executions::open(Transaction& transaction, std::int64_t number,
                                  const std::optional<ExecutionTickets>& tickets) {
  follow_moment(transaction);
  if (const auto found = open_.find(number); found != open_.end()) {
    if (tickets && tickets->header) transaction.session().take(*tickets->header, [](const store::Row&) {});
    if (tickets) found->second->take_nodes(*tickets);
    return found->second.get();
  }
  auto execution = std::make_unique<StoredExecution>(transaction.session(), workflows_, number);
  if (!execution->load(tickets)) return nullptr;
  return remember(std::move(execution));
}

void Executions::open_new(Transaction& transaction, std::int64_t number, StoredExecution::New made) {
  follow_moment(transaction);
  auto execution = std::make_unique<StoredExecution>(transaction.session(), workflows_, number);
  execution->begin(std::move(made));
  remember(std::move(execution));
}

StoredExecution* Executions::remember(std::unique_ptr<StoredExecution> execution) {
  const std::int64_t number = execution->number();
  constexpr std::size_t max_remembered = 4'096;
  if (seen_.size() >= max_remembered) seen_.clear();
  seen_.try_emplace(number, execution->loaded());
  return open_.emplace(number, std::move(execution)).first->second.get();
}

void Executions::forget(std::int64_t number) { open_.erase(number); }

void Executions::follow_moment(const Transaction& transaction) {
  if (moment_ == transaction.moment()) return;
  moment_ = transaction.moment();
  open_.clear();
  sent_.clear();
}

}  // namespace reeve::ledger
