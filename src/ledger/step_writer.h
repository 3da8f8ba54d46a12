#pragma once

#include <deque>

#include "ledger/executions.h"

namespace reeve::ledger {

// Writes one step and its effects on other executions: a child starts, ends or is cancelled with its node, a question
// is asked or closed. All in one transaction.
class StepWriter {
 public:
  StepWriter(Executions& executions, Transaction& transaction, const WorkerCapacity& worker, StepResult& result)
      : executions_(executions), transaction_(transaction), worker_(worker), result_(result) {}

  std::int64_t start(const NewExecution& wanted);
  // False if the execution does not exist.
  bool step(std::int64_t execution, const engine::ExecutionEvent& event, const Claim* claim,
            const std::optional<ExecutionTickets>& tickets);
  void answer(std::int64_t execution, std::int64_t approval, const engine::NodeFinished& answered) {
    follow_ups_.push_back({execution, answered, std::nullopt, approval});
  }
  // Processes follow-ups until there are none left.
  void follow();

 private:
  struct FollowUp {
    std::int64_t execution;
    engine::ExecutionEvent event;
    // Applies only if this is still the node's child, or its question.
    std::optional<std::int64_t> child = {};
    std::optional<std::int64_t> approval = {};
  };

  store::Session& session() { return transaction_.session(); }
  std::int64_t insert(const std::string& hash, const model::Workflow& workflow, const std::string& subgraphs,
                      const base::Value& inputs, const StoredExecution* parent, const engine::NewChild* child,
                      const NewExecution* wanted);
  bool decide_and_write(StoredExecution& view, const engine::ExecutionEvent& event);
  void write(StoredExecution& view, const engine::ExecutionDecision& decision);
  void ask(StoredExecution& view, const engine::NewApproval& asked);
  void begin_child(StoredExecution& view, const engine::NewChild& child);
  void archive(StoredExecution& view, const engine::ArchivedNode& archived);
  void write_node(StoredExecution& view, graph::NodeIndex node, const engine::NodeChange* change);
  void cancel_pending(StoredExecution& view);
  void write_execution(StoredExecution& view, const engine::ExecutionChange& change);
  void take_action(StoredExecution& view, const engine::Action& action);
  void conclude_child(StoredExecution& view, model::ExecutionStatus status, const std::optional<std::string>& reason);
  bool resume_child(std::int64_t child);
  void tell_node(const StoredExecution& view, graph::NodeIndex node, model::NodeStatus status, int iteration,
                 int attempt, const std::optional<std::string>& error);

  Executions& executions_;
  Transaction& transaction_;
  const WorkerCapacity& worker_;
  StepResult& result_;
  std::deque<FollowUp> follow_ups_;
  // Notes of the decision being written, by node.
  std::map<graph::NodeIndex, std::vector<std::string>> notes_;
};

}  // namespace reeve::ledger
