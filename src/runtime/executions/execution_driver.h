#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/claims.h"
#include "runtime/executions/apply_gates.h"
#include "runtime/executions/execution_cleanup.h"
#include "runtime/executions/execution_migration.h"
#include "runtime/executions/node_executor.h"
#include "runtime/executions/orphan_runs.h"
#include "runtime/executions/retry.h"
#include "runtime/executions/slots.h"
#include "runtime/executions/stored_settings.h"
#include "runtime/loop/coalesced.h"
#include "runtime/runs/idempotency.h"

namespace reeve::runtime {

// Drives executions (GRF-13): claims ready nodes while there are free slots, runs tasks and gates as supervised runs,
// and stores their results. All its state is in the store as well: after a crash, the next daemon continues. Lives on
// the loop.
class ExecutionDriver {
 public:
  explicit ExecutionDriver(NodeExecutor::Parts parts);
  ExecutionDriver(const ExecutionDriver&) = delete;
  ExecutionDriver& operator=(const ExecutionDriver&) = delete;

  struct Start {
    // `config` is filled in here, and the settings' base commit if the execution is isolated.
    ledger::NewExecution execution;
    ExecutionSettings settings;
    std::optional<Idempotency> idempotency = {};
  };
  struct Started {
    base::ExecutionId execution{0};
    // The user's uncommitted changes, which are not included.
    std::vector<std::string> dirty = {};
    // An earlier request with the same key started it.
    bool is_repeated = false;
  };
  template <class T>
  using Answer = std::function<void(std::expected<T, base::Error>)>;
  // The caller has validated the workflow against the config. Errors: those of check_plans and Isolation::survey.
  void start(Start start, Answer<Started> answer);
  // Errors: `execution.not_found`, `execution.over`.
  void cancel(base::ExecutionId execution, std::string reason, Answer<base::ExecutionId> answer);
  // Holds its runs and starts no node, or lets it continue. Errors: `execution.not_found`, `execution.over`,
  // `run.keeper_too_old`.
  void pause(base::ExecutionId execution, bool is_paused, std::string by, Answer<base::ExecutionId> answer);
  // The settings of an execution have changed on disk.
  void forget_settings(base::ExecutionId execution) { settings_.forget(execution); }
  // GRF-14. Errors: `execution.not_found`, `execution.not_failed`, `execution.is_part`.
  void retry(base::ExecutionId execution, Answer<base::ExecutionId> answer);
  // The same after a correction. The caller has validated the workflow; its tools, roles and gates must be among those
  // that the execution was started with. Errors: also those of check_plans() and Executions::correct().
  void retry(base::ExecutionId execution, ledger::WorkflowCorrection correction, Answer<base::ExecutionId> answer);

  // Performs the actions of a committed step (ledger/executions.h), made by this driver or by an answer to a question.
  void perform(const ledger::StepResult& result);

  // Called after every run was examined (RUN-13): continues the work of the dead predecessor and pending cleanup of
  // ended executions. Calls `done` when it is ready.
  void begin(std::function<void()> done);
  // Called at reported polls and after external writes: work of other daemons may have become available, or been taken.
  void poll();
  void on_run_changed(const model::Run& run);
  // Queued runs go before nodes.
  void on_slots_freed() { use_room(); }
  // ISO-1: sets the attempt's changes aside, so that the next attempt begins from the same state.
  void on_attempt_lost(const AttemptLost& lost);
  void on_steps_committed(const StepsCommitted& steps);
  void on_node_changed(const ledger::Claim& claim);
  void on_worktree_ready(const WorktreeReady& ready);
  void on_work_ended(const NodeWorkEnded& ended);
  void on_claim_lost(const ledger::Claim& claim);
  void on_execution_migrated(const ExecutionMigrated& migrated);
  // The execution has ended, but applying and cleanup are not finished (ISO-3).
  bool is_finishing(base::ExecutionId root) const { return cleanup_.is_running(root); }

 private:
  // In driver_requests.cpp.
  void store_start(std::shared_ptr<Start> start, std::vector<std::string> dirty, Answer<Started> answer);
  // The event of a request, made within the transaction.
  struct RequestedStep {
    bool is_retry = false;
    std::function<engine::ExecutionEvent(ledger::Transaction&)> make;
    base::Error refusal;
  };
  void step(base::ExecutionId execution, RequestedStep requested, Answer<base::ExecutionId> answer);
  void retry_with(base::ExecutionId execution, const std::shared_ptr<const ledger::WorkflowCorrection>& correction,
                  Answer<base::ExecutionId> answer);

  void pause_runs(base::ExecutionId execution, bool is_paused, const std::string& by,
                  const std::vector<model::Run>& runs, const Answer<base::ExecutionId>& answer);

  void begin_work(const ledger::StartWork& work);
  // Gives the node a slot and calls `go` with its executor, once its settings are known.
  void hold(const ledger::StartWork& work, std::function<void(NodeExecutor&)> go);
  // The node of that claim, if it is held here.
  std::shared_ptr<NodeExecutor> find_held(const ledger::Claim& claim) const;
  void remove_held(const ledger::Claim& claim);
  void conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event);
  void on_concluded(const NodeWorkEnded& ended, const std::optional<base::Error>& error,
                    const ledger::StepResult& result);
  void drop(const ledger::Claim& claim);

  // In driver_slots.cpp.
  ledger::WorkerCapacity capacity(std::size_t freed) const;
  void announce_room();
  void use_room();
  void start_ready(const WorktreeReady& ready);
  void offer_room();
  void wake_others();
  void wait_until(base::WallTime when);

  // In driver_recovery.cpp.
  void adopt(std::function<void()> done);
  void resume(const std::vector<AdoptedNode>& nodes);
  void read_run(base::RunId run);
  void poll_held();

  NodeExecutor::Parts parts_;
  RuntimeContext& context_;
  ApplyGates gates_;
  Slots slots_;
  StoredSettings settings_{context_};
  ExecutionCleanup cleanup_{context_, parts_.isolation, settings_};
  ExecutionMigration migration_{{context_, parts_.isolation, settings_, cleanup_, slots_}};
  OrphanRuns orphans_{context_, parts_.supervisor};
  RetryAfterPause retry_{context_.loop};
  std::map<NodeKey, std::shared_ptr<NodeExecutor>> held_;
  std::map<base::RunId, NodeKey> by_run_;
  // A ready node found no free slot since slots were last offered.
  bool was_full_ = false;
  Coalesced offering_;
  // When the next delayed node becomes ready.
  std::optional<base::WallTime> due_;
  Loop::Hold timer_;
  bool has_begun_ = false;
  bool is_waking_ = false;
  Coalesced adopting_;
  base::BootTime polled_at_;
  Loop::Hold next_poll_;
};

}  // namespace reeve::runtime
