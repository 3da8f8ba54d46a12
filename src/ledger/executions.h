#pragma once

#include <deque>
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

// Executions in the store: each step is decided by the engine inside the transaction and written with the states it
// was decided on (GRF-13).
namespace reeve::ledger {

// Which attempt of which node, and how often it had changed hands when it was claimed.
struct Claim {
  base::ExecutionId execution{0};
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  std::int64_t epoch = 0;
  friend bool operator==(const Claim&, const Claim&) = default;
};

// To be done after the commit; a claim tells two times of doing it apart.
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
  // What `workflow_name`s of subgraphs mean (GRF-11), all that can be reached.
  struct Subgraph {
    std::string hash;
    model::Workflow workflow;
  };
  std::map<std::string, Subgraph> subgraphs = {};
  base::Value inputs = base::Value::object();
  std::optional<std::string> label = {};
  std::optional<std::string> phase_name = {};
  std::map<std::string, std::string> metadata = {};
  // Frozen with it.
  std::optional<base::Value> config = {};
  // The host whose daemons alone may start its nodes (ISO-1); nothing: any.
  std::optional<std::string> home = {};
};

// Who decides.
struct Worker {
  // Its row in `daemons`; claims carry it.
  std::int64_t daemon = 0;
  // How many nodes it can start at once.
  std::size_t room = 0;
  // Where it runs; executions that belong to another host are not begun here.
  std::string host = {};
};

// What a step did beside its changes.
struct StepResult {
  // Executions that ended in it; those of subgraphs are their nodes' matter.
  struct Ended {
    base::ExecutionId execution{0};
    model::ExecutionStatus status = model::ExecutionStatus::completed;
  };
  std::vector<Ended> ended = {};
  // Where a node that is nobody's work completed and says `apply` (ISO-3).
  std::vector<base::ExecutionId> wants_apply = {};
  // The event came too late, twice, or with an old claim: nothing was changed.
  bool is_stale = false;
  std::vector<Work> work;
  // Of the run that asked, when a question was closed.
  std::vector<RunConsequence> runs;
  // A person said that the branches of these may go into the checkout (ISO-3).
  std::vector<base::ExecutionId> applies = {};
};

// A node that is somebody's claim: it runs, or its run waits for a person (GRF-7).
constexpr bool is_begun(model::NodeStatus status) noexcept {
  return status == model::NodeStatus::running || status == model::NodeStatus::waiting_approval;
}

// Whether the claim is still the node's.
bool is_held(const NodeRow& row, const Claim& claim);

class Executions {
 public:
  base::ExecutionId start(Transaction& transaction, const NewExecution& wanted, const Worker& worker,
                          StepResult& result);

  // Something happened to an execution. Throws `execution.not_found`.
  void step(Transaction& transaction, base::ExecutionId execution, const engine::ExecutionEvent& event,
            const Worker& worker, StepResult& result, const std::optional<ExecutionTickets>& tickets = {});

  // A claimed node ended. Refused (is_stale) when the claim is no longer the node's: it was cancelled, taken over, or
  // another attempt.
  void conclude(Transaction& transaction, const Claim& claim, const engine::ExecutionEvent& event, const Worker& worker,
                StepResult& result, const std::optional<ExecutionTickets>& tickets = {});

  // A human node's question was answered. Stale when the node asks something else by now.
  void answer(Transaction& transaction, base::ExecutionId execution, base::ApprovalId approval,
              const engine::NodeFinished& answered, const Worker& worker, StepResult& result);

  // GRF-7: the node whose work the run does waits with it, or goes on. Nothing when the run is another's by now.
  void follow_run(Transaction& transaction, const Transaction::NodeWait& wait, const Worker& worker,
                  StepResult& result);

  // A claim as it was given out, and the run that it may have begun as. Nothing when it is another's by now.
  struct Held {
    StartWork work;
    std::optional<base::RunId> run;
  };
  std::optional<Held> load(Transaction& transaction, const Claim& claim);

  // The execution and all that its subgraphs are, by number, those that are not over locked to the end of the
  // transaction: nothing of them begins or ends meanwhile, and no child is added. Throws AggregateBusy.
  std::vector<std::int64_t> lock_tree(Transaction& transaction, base::ExecutionId root);

  // Which rows a step about this node will need, where that is known without asking.
  ExecutionTickets prefetch(Transaction& transaction, base::ExecutionId execution, graph::NodeIndex node);

 private:
  friend class StepWriter;

  // The execution, loaded and locked once in a transaction; nullptr when there is none. Throws AggregateBusy.
  StoredExecution* open(Transaction& transaction, std::int64_t number,
                        const std::optional<ExecutionTickets>& tickets = {});
  // One that this transaction has just inserted.
  void open_new(Transaction& transaction, std::int64_t number, StoredExecution::New made);
  StoredExecution* remember(std::unique_ptr<StoredExecution> execution);
  void forget(std::int64_t number);
  void follow_moment(const Transaction& transaction);

  Workflows workflows_;
  // Of this moment of a transaction: executions that are open, and those whose header was sent for.
  Transaction::Moment moment_;
  std::unordered_map<std::int64_t, std::unique_ptr<StoredExecution>> open_;
  std::unordered_set<std::int64_t> sent_;
  // Versions of executions seen before; they never change.
  std::unordered_map<std::int64_t, std::shared_ptr<const LoadedWorkflow>> seen_;
};

}  // namespace reeve::ledger
