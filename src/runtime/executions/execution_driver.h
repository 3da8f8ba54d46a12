#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger/claims.h"
#include "ledger/homes.h"
#include "runtime/executions/apply_gates.h"
#include "runtime/executions/node_executor.h"
#include "runtime/loop/coalesced.h"
#include "runtime/runs/idempotency.h"
#include "runtime/settings/settings_cache.h"

namespace reeve::runtime {

// Drives executions (GRF-13): claims ready nodes while there are free slots, runs tasks and gates as supervised runs,
// and stores their results. All its state is in the store as well: after a crash, the next daemon continues. Lives on
// the loop.
class ExecutionDriver {
 public:
  explicit ExecutionDriver(NodeExecutor::Helpers helpers);
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
  // GRF-14. Errors: `execution.not_found`, `execution.not_failed`, `execution.is_part`.
  void retry(base::ExecutionId execution, Answer<base::ExecutionId> answer);

  // Performs the actions of a committed step (ledger/executions.h), made by this driver or by an answer to a question.
  void perform(const ledger::StepResult& result);

  // Called after every run was examined (RUN-13): continues the work of the dead predecessor and pending cleanup of
  // ended executions. Calls `done` when it is ready.
  void begin(std::function<void()> done);
  // Called at each poll and after external writes: work of other daemons may have become available, or been taken.
  void poll();
  void on_run_changed(const model::Run& run);
  // ISO-1: sets the attempt's changes aside, so that the next attempt begins from the same state.
  void on_attempt_lost(const AttemptLost& lost);
  void on_steps_committed(const StepsCommitted& steps);
  void on_node_changed(const ledger::Claim& claim);
  void on_worktree_ready(const WorktreeReady& ready);
  void on_work_ended(const NodeWorkEnded& ended);
  void on_claim_lost(const ledger::Claim& claim) { forget(claim); }
  // The execution has ended, but applying and cleanup are not finished (ISO-3).
  bool is_finishing(base::ExecutionId root) const { return finishing_.contains(root); }

 private:
  // Execution and node.
  using Key = std::pair<std::int64_t, graph::NodeIndex>;
  using SharedSettings = SettingsCache::Shared;
  using Place = SettingsCache::Place;
  // A claim as found by the next daemon.
  struct Found {
    ledger::Executions::Held held;
    std::vector<model::Run> runs;
    // Its last run was on another host and has no live processes.
    bool is_foreign = false;
  };
  // The result of moving an execution to this host.
  struct MigrationResult {
    bool is_here = false;
    std::vector<Found> found;
    ledger::StepResult step;
  };
  // When to retry something that failed.
  struct Pause {
    base::BootTime until;
    base::Milliseconds length = std::chrono::seconds(1);
  };

  static Key key_of(const ledger::Claim& claim) { return {claim.execution.number(), claim.node}; }
  std::size_t room() const noexcept;
  ledger::WorkerCapacity capacity(std::size_t freed) const;
  void note_room();

  void store_start(std::shared_ptr<Start> start, std::vector<std::string> dirty, Answer<Started> answer);
  void begin_work(const ledger::StartWork& work);
  void hold(const ledger::StartWork& work, std::function<void(NodeExecutor&)> go);
  void add(const ledger::StartWork& work, const Place& place, const std::function<void(NodeExecutor&)>& go);
  void with_place(base::ExecutionId execution, Answer<Place> then);
  enum class Origin { here, elsewhere };
  void adapt(ExecutionSettings& settings, Origin origin) const;
  // The node of that claim, if it is held here.
  std::shared_ptr<NodeExecutor> find_held(const ledger::Claim& claim) const;
  void forget(const ledger::Claim& claim);
  void free_room(const ledger::Claim& claim);
  void use_room();
  void conclude(const NodeWorkEnded& ended);
  void conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event);
  void on_concluded(const NodeWorkEnded& ended, const std::optional<base::Error>& error,
                    const ledger::StepResult& result);
  void drop(const ledger::CancelWork& cancel);
  void start_waiting();
  void give_room(const WorktreeReady& ready);
  std::size_t max_runs() const noexcept { return static_cast<std::size_t>(context_.supervision.max_parallel_runs); }
  bool may_prepare() const noexcept;
  // If the outcome of a transaction is unknown, nodes claimed in it would never be started. The exception ends the
  // daemon, and the next one reads the actual state.
  static void rethrow_unknown_commit(const std::optional<base::Error>& error) {
    if (error && error->code() == "store.unknown_outcome") throw *error;
  }
  static bool is_of_store(const base::Error& error) { return error.code().starts_with("store."); }
  void later(std::function<void()> again);
  void offer_room();
  void wake_others();
  void wait_until(base::WallTime when);

  void step(base::ExecutionId execution, engine::ExecutionEvent event, base::Error refusal,
            Answer<base::ExecutionId> answer);
  void settle_starts(std::function<void()> done);
  void adopt(std::function<void()> done);
  static std::optional<Found> take_left(ledger::Transaction& transaction, ledger::Executions& executions,
                                        const ledger::LapsedClaim& lapsed, const ledger::WorkerCapacity& worker);
  void take_found(std::vector<Found> found);
  // In runtime/executions/driver_migration.cpp: migration of executions owned by other hosts where no daemon works on
  // them (ISO-1).
  void find_migratable();
  void migrate(base::ExecutionId root);
  void settle(base::ExecutionId root, const SharedSettings& settings, const std::string& tip);
  void on_migration_result(base::ExecutionId root, const MigrationResult& result);
  void end_migration(base::ExecutionId root, const std::optional<base::Error>& error);
  void put_off(std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const;
  bool is_due(const std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const;
  void read_run(base::RunId run);
  void end_orphans(std::function<void()> done);
  void end_orphan(const ledger::Orphan& orphan, std::function<void()> done);
  void find_orphans(Answer<std::vector<ledger::Orphan>> then);
  void sweep_orphans();
  void on_node_gone(base::ExecutionId root);
  void apply(base::ExecutionId execution);
  void apply_passed(base::ExecutionId root, const SharedSettings& settings, std::function<void()> done);
  void log_unapplied(base::ExecutionId root, const std::string& why) const;
  void finish(base::ExecutionId root, model::ExecutionStatus status);
  void close(base::ExecutionId root, model::ExecutionStatus status, const SharedSettings& settings);
  void finish_open();
  void poll_held();
  void note_open(base::ExecutionId root);
  void sweep_settings();

  NodeExecutor::Helpers helpers_;
  RuntimeContext& context_;
  ApplyGates gates_;
  std::map<Key, std::shared_ptr<NodeExecutor>> held_;
  std::map<base::RunId, Key> by_run_;
  // Nodes that use a slot, each with the claim that does: an attempt may still be ending when the next one of the same
  // node begins.
  std::map<Key, ledger::Claim> busy_;
  // Claimed and waiting for a free slot.
  std::deque<ledger::StartWork> waiting_;
  // Nodes whose working folder is being prepared, which use no slot; and those whose folder is ready and which wait for
  // a slot.
  std::set<Key> preparing_;
  std::deque<WorktreeReady> placed_;
  SettingsCache settings_cache_;
  // Number of an execution's nodes that are being ended, and ended executions that wait for that.
  std::map<base::ExecutionId, int> ending_;
  std::map<base::ExecutionId, model::ExecutionStatus> to_finish_;
  std::set<base::ExecutionId> finishing_;
  // Executions with changes that may be applied at their end: their gates will need the config.
  std::set<base::ExecutionId> unapplied_;
  // With a shared store: executions started here that are not known to have ended. Another daemon may end them.
  std::set<base::ExecutionId> open_;
  base::ExecutionId swept_to_{0};
  base::BootTime next_sweep_;
  bool is_sweeping_ = false;
  // Requests that wait until an execution has finished.
  std::map<base::ExecutionId, std::vector<std::function<void()>>> after_finish_;
  // Executions whose cleanup failed, and those that could not be moved here.
  std::map<base::ExecutionId, Pause> refinish_;
  std::map<base::ExecutionId, Pause> migratable_;
  base::BootTime next_migration_;
  bool is_migrating_ = false;
  // A ready node found no free slot since slots were last offered.
  bool was_full_ = false;
  Coalesced offering_;
  bool has_begun_ = false;
  bool is_polling_ = false;
  bool is_sweeping_orphans_ = false;
  base::BootTime next_stray_sweep_;
  base::BootTime next_orphan_sweep_;
  bool is_waking_ = false;
  base::BootTime polled_at_;
  std::optional<base::WallTime> due_;
  Loop::Hold timer_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
