#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/id.h"
#include "engine/execution.h"
#include "ledger/run_consequence.h"
#include "ledger/stored_execution.h"
#include "ledger/unit.h"
#include "ledger/workflows.h"

// Executions in the store: the engine decides each step inside the transaction, and the step is written with the states
// it was decided on (GRF-13).
namespace reeve::ledger {

// An attempt of a node, and its epoch: how often it had changed hands when it was claimed.
struct Claim {
  base::ExecutionId execution{0};
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  std::int64_t epoch = 0;
  friend bool operator==(const Claim&, const Claim&) = default;
};

// An action for after the commit; the claim makes repeated actions distinguishable.
struct StartWork {
  Claim claim;
  std::shared_ptr<const LoadedWorkflow> workflow;
  base::Value inputs;
};
struct OfferWork {
  base::ExecutionId execution{0};
  std::optional<base::WallTime> not_before;
};
struct CancelWork {
  Claim claim;
  std::optional<base::RunId> run;
};
using Work = std::variant<StartWork, OfferWork, CancelWork>;

struct NewExecution {
  model::Workflow workflow;
  std::string hash;
  // The reachable targets of subgraphs' `workflow_name`s (GRF-11).
  struct Subgraph {
    std::string hash;
    model::Workflow workflow;
  };
  std::map<std::string, Subgraph> subgraphs = {};
  base::Value inputs = base::Value::object();
  std::optional<std::string> label = {};
  std::optional<std::string> phase_name = {};
  std::map<std::string, std::string> metadata = {};
  // The path of its project; a subgraph has that of its parent.
  std::optional<std::string> project = {};
  // Frozen at the start.
  std::optional<base::Value> config = {};
  // The owner host, whose daemons alone may start its nodes (ISO-1); empty: any.
  std::optional<std::string> home = {};
};

// The deciding worker.
struct WorkerCapacity {
  // Its row in `daemons`; claims carry it.
  std::int64_t daemon = 0;
  // How many nodes it can start.
  std::size_t room = 0;
  // Its host; executions that belong to another host are not started here.
  std::string host = {};
};

// What a person corrects before a failed execution continues (GRF-14).
struct WorkflowCorrection {
  // Nothing: the workflow stays.
  std::optional<model::Workflow> workflow = {};
  // Targets of its subgraphs; those that the execution already has stay as they are.
  std::map<std::string, NewExecution::Subgraph> subgraphs = {};
  // Put over the inputs that the execution was started with.
  std::optional<base::Value> inputs = {};
  std::string by = {};
  // spec::hash_content().
  std::function<std::string(const model::Workflow&)> hash = {};
};

// The results of a step besides its changes.
struct StepResult {
  // Root executions that ended; the end of a subgraph is reported to its node.
  struct Ended {
    base::ExecutionId execution{0};
    model::ExecutionStatus status = model::ExecutionStatus::completed;
  };
  std::vector<Ended> ended = {};
  // Where an unclaimed node with `apply` completed (ISO-3).
  std::vector<base::ExecutionId> wants_apply = {};
  // The event was late, repeated, or had an old claim: nothing was changed.
  bool is_stale = false;
  std::vector<Work> work;
  // Consequences for runs whose question was closed.
  std::vector<RunConsequence> runs;
  // Executions whose branches a user approved for the checkout (ISO-3).
  std::vector<base::ExecutionId> applies = {};
};

// A claimed node: it runs, or its run waits for a person (GRF-7).
constexpr bool is_begun(model::NodeStatus status) noexcept {
  return status == model::NodeStatus::running || status == model::NodeStatus::waiting_approval;
}

// Whether the claim is still current.
bool is_held(const NodeRow& row, const Claim& claim);

class Executions {
 public:
  base::ExecutionId start(Transaction& transaction, const NewExecution& wanted, const WorkerCapacity& worker,
                          StepResult& result);

  // Applies an event to an execution. Throws `execution.not_found`.
  void step(Transaction& transaction, base::ExecutionId execution, const engine::ExecutionEvent& event,
            const WorkerCapacity& worker, StepResult& result, const std::optional<ExecutionTickets>& tickets = {});

  // Stores the corrected workflow as a new version, links it to the execution and records the correction. Returns the
  // event with which it continues. Errors: `execution.not_found`, `execution.not_failed`, `execution.not_correctable`,
  // `flow.invalid_inputs`.
  engine::RetryRequested correct(Transaction& transaction, base::ExecutionId execution,
                                 const WorkflowCorrection& correction);

  // A claimed node ended. Stale if the claim is no longer current: the node was cancelled, taken over, or is at another
  // attempt.
  void conclude(Transaction& transaction, const Claim& claim, const engine::ExecutionEvent& event,
                const WorkerCapacity& worker, StepResult& result, const std::optional<ExecutionTickets>& tickets = {});

  // A human node's question was answered. Stale if the node now asks something else.
  void answer(Transaction& transaction, base::ExecutionId execution, base::ApprovalId approval,
              const engine::NodeFinished& answered, const WorkerCapacity& worker, StepResult& result);

  // GRF-7: the node of the run waits or resumes with it. Does nothing if the node has another run.
  void follow_run(Transaction& transaction, const Transaction::NodeWait& wait, const WorkerCapacity& worker,
                  StepResult& result);

  // A claim and the run that it may have started. Nothing if the claim is no longer current.
  struct Held {
    StartWork work;
    std::optional<base::RunId> run;
  };
  std::optional<Held> load(Transaction& transaction, const Claim& claim);

  // The numbers of the execution and all its subgraphs. Unfinished ones stay locked until the end of the transaction:
  // none of them starts or ends meanwhile, and no child is added. Throws AggregateBusy.
  std::vector<std::int64_t> lock_tree(Transaction& transaction, base::ExecutionId root);

  // Requests the rows that a step about this node will need, as far as that is known.
  ExecutionTickets prefetch(Transaction& transaction, base::ExecutionId execution, graph::NodeIndex node);

 private:
  friend class StepWriter;

  // The execution, loaded and locked once per transaction; nullptr if there is none. Throws AggregateBusy.
  StoredExecution* open(Transaction& transaction, std::int64_t number,
                        const std::optional<ExecutionTickets>& tickets = {});
  // For an execution that this transaction has just inserted.
  void open_new(Transaction& transaction, std::int64_t number, StoredExecution::New made);
  StoredExecution* remember(std::unique_ptr<StoredExecution> execution);
  void forget(std::int64_t number);
  void follow_moment(const Transaction& transaction);

  Workflows workflows_;
  // Valid for the current moment of a transaction: open executions, and those whose header was requested.
  Transaction::Moment moment_;
  std::unordered_map<std::int64_t, std::unique_ptr<StoredExecution>> open_;
  std::unordered_set<std::int64_t> sent_;
  // Workflow versions of executions seen before; they never change.
  std::unordered_map<std::int64_t, std::shared_ptr<const LoadedWorkflow>> seen_;
};

}  // namespace reeve::ledger
