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
#include "runtime/apply_gates.h"
#include "runtime/ground_shelf.h"
#include "runtime/idempotency.h"
#include "runtime/node_work.h"

namespace reeve::runtime {

// Drives executions (GRF-13): claims what is ready as far as there is room, runs tasks and gates as supervised runs,
// and tells the store how they ended. What it holds is in the store too: after a crash the next daemon goes on with it.
// Lives on the loop.
class Worker {
 public:
  explicit Worker(NodeWork::Helpers helpers);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  struct Start {
    // Its `config` is filled in here, and the ground's base commit, if it is to be isolated.
    ledger::NewExecution execution;
    ExecutionGround ground;
    std::optional<Idempotency> idempotency = {};
  };
  struct Started {
    base::ExecutionId execution{0};
    // What the person has changed and not committed: no part of it.
    std::vector<std::string> dirty = {};
    // It was started before, with the same key.
    bool is_repeated = false;
  };
  template <class T>
  using Answer = std::function<void(std::expected<T, base::Error>)>;
  // The caller has held the workflow against the config. Errors: those of check_plans and Isolation::survey.
  void start(Start start, Answer<Started> answer);
  // Errors: `execution.not_found`, `execution.over`.
  void cancel(base::ExecutionId execution, std::string reason, Answer<base::ExecutionId> answer);
  // GRF-14. Errors: `execution.not_found`, `execution.not_failed`, `execution.is_part`.
  void retry(base::ExecutionId execution, Answer<base::ExecutionId> answer);

  // What a step asks for (ledger/executions.h), after its commit: of this worker, or of an answer to a question.
  void take(const ledger::StepResult& result);

  // The same of what followed from the moves of runs; with an error nobody knows whether it was stored.
  void take_followed(const std::optional<base::Error>& error, const ledger::StepResult& result);

  // After every run has been looked at (RUN-13): goes on with what its dead predecessor held, and with what was to be
  // done at the end of executions. Calls when it can work.
  void begin(std::function<void()> done);
  // Something may be ready that another has left, or been taken away: at each poll, and when somebody wrote.
  void look();
  // A run is in another state.
  void see(const model::Run& run);
  // ISO-1: an attempt of that run was lost half-done. The next one begins where it began.
  void put_aside(const model::Run& run, Supervisor::LostAnswer answer);
  // An execution is over, and what its end brings with it is not done yet (ISO-3).
  bool is_finishing(base::ExecutionId root) const { return finishing_.contains(root); }

 private:
  // Execution and node.
  using Key = std::pair<std::int64_t, graph::NodeIndex>;
  using SharedGround = GroundShelf::Shared;
  using Place = GroundShelf::Place;
  // What the next daemon finds of a claim.
  struct Found {
    ledger::Executions::Held held;
    std::vector<model::Run> runs;
    // Its last run is another host's, and nothing of that lives any more.
    bool is_foreign = false;
  };
  // Where it came to when it was asked to move here.
  struct Arrival {
    bool is_here = false;
    std::vector<Found> found;
    ledger::StepResult step;
  };
  // When something that failed is next tried.
  struct Pause {
    base::BootTime until;
    base::Milliseconds length = std::chrono::seconds(1);
  };

  static Key key_of(const ledger::Claim& claim) { return {claim.execution.number(), claim.node}; }
  std::size_t room() const noexcept;
  ledger::Worker hands(std::size_t freed) const;
  void note_room();

  void store_start(std::shared_ptr<Start> start, std::vector<std::string> dirty, Answer<Started> answer);
  void begin_work(const ledger::StartWork& work);
  void hold(const ledger::StartWork& work, std::function<void(NodeWork&)> go);
  void add(const ledger::StartWork& work, const Place& place, const std::function<void(NodeWork&)>& go);
  void with_place(base::ExecutionId execution, Answer<Place> then);
  enum class Origin { here, elsewhere };
  void adapt(ExecutionGround& ground, Origin origin) const;
  void note_change(const Key& key);
  void forget(const ledger::Claim& claim);
  void free_room(const ledger::Claim& claim);
  void use_room();
  void conclude(const ledger::Claim& claim, NodeWork::Event event);
  void conclude_now(const ledger::Claim& claim, engine::ExecutionEvent event);
  void see_concluded(const ledger::Claim& claim, const NodeWork::Event& event, const std::optional<base::Error>& error,
                     const ledger::StepResult& result);
  void drop(const ledger::CancelWork& cancel);
  void start_waiting();
  void give_room(const ledger::Claim& claim, std::function<void()> go);
  std::size_t most_runs() const noexcept { return static_cast<std::size_t>(around_.supervision.max_parallel_runs); }
  bool may_prepare() const noexcept;
  // What was claimed in a transaction of which nobody knows whether it happened would be begun by nobody: the next
  // daemon reads the truth.
  static void die_of_doubt(const std::optional<base::Error>& error) {
    if (error && error->code() == "store.unknown_outcome") throw *error;
  }
  static bool is_of_store(const base::Error& error) { return error.code().starts_with("store."); }
  void later(std::function<void()> again);
  void offer_room();
  void tell_others();
  void wait_until(base::WallTime when);

  void step(base::ExecutionId execution, engine::ExecutionEvent event, base::Error refusal,
            Answer<base::ExecutionId> answer);
  void settle_starts(std::function<void()> done);
  void adopt(std::function<void()> done);
  static std::optional<Found> take_left(ledger::Transaction& transaction, ledger::Executions& executions,
                                        const ledger::LapsedClaim& lapsed, const ledger::Worker& worker);
  void take_found(std::vector<Found> found);
  // runtime/worker_visits.cpp: executions that are at home elsewhere, where nobody works on them (ISO-1).
  void look_abroad();
  void visit(base::ExecutionId root);
  void settle(base::ExecutionId root, const SharedGround& ground, const std::string& tip);
  void see_arrival(base::ExecutionId root, const Arrival& arrival);
  void end_visit(base::ExecutionId root, const std::optional<base::Error>& error);
  void put_off(std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const;
  bool is_due(const std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const;
  void look_at_run(base::RunId run);
  void end_orphans(std::function<void()> done);
  void end_orphan(const ledger::Orphan& orphan, std::function<void()> done);
  void find_orphans(Answer<std::vector<ledger::Orphan>> then);
  void sweep_orphans();
  void see_ended(base::ExecutionId root);
  void apply(base::ExecutionId execution);
  void apply_passed(base::ExecutionId root, const SharedGround& ground, std::function<void()> done);
  void tell_unapplied(base::ExecutionId root, const std::string& why) const;
  void finish(base::ExecutionId root, model::ExecutionStatus status);
  void close(base::ExecutionId root, model::ExecutionStatus status, const SharedGround& ground);
  void finish_open();
  void look_at_held();
  void note_open(base::ExecutionId root);
  void sweep_grounds();

  NodeWork::Helpers helpers_;
  Surroundings& around_;
  ApplyGates gates_;
  std::map<Key, std::shared_ptr<NodeWork>> held_;
  std::map<base::RunId, Key> by_run_;
  // Those that take up room, each with the claim that does: one may still be on its way to its end when the next of the
  // same node begins.
  std::map<Key, ledger::Claim> busy_;
  // Claimed, and waiting for room here.
  std::deque<ledger::StartWork> waiting_;
  // On their way to a place to work, which take up none; and those of them that have it and wait for room.
  std::set<Key> preparing_;
  struct Placed {
    ledger::Claim claim;
    std::function<void()> go;
  };
  std::deque<Placed> placed_;
  GroundShelf grounds_;
  // How many of an execution's nodes are being ended, and executions that are over and wait for that.
  std::map<base::ExecutionId, int> ending_;
  std::map<base::ExecutionId, model::ExecutionStatus> to_finish_;
  std::set<base::ExecutionId> finishing_;
  // Those of which something may be applied when they are over: gates will need their config.
  std::set<base::ExecutionId> unapplied_;
  // Where many share a store: started here, and not known to be over. Another daemon may end them.
  std::set<base::ExecutionId> open_;
  base::ExecutionId swept_to_{0};
  base::BootTime next_sweep_;
  bool is_sweeping_ = false;
  // What waits for that.
  std::map<base::ExecutionId, std::vector<std::function<void()>>> after_finish_;
  // Those whose end could not be seen to, and those that could not be brought here.
  std::map<base::ExecutionId, Pause> refinish_;
  std::map<base::ExecutionId, Pause> abroad_;
  base::BootTime next_visit_;
  bool is_visiting_ = false;
  // Something was ready and found no room since room was last offered.
  bool was_full_ = false;
  bool is_offering_ = false;
  bool must_offer_again_ = false;
  bool has_begun_ = false;
  bool is_looking_ = false;
  bool is_sweeping_orphans_ = false;
  base::BootTime next_stray_sweep_;
  base::BootTime next_orphan_sweep_;
  bool is_telling_ = false;
  base::BootTime looked_at_;
  std::optional<base::WallTime> due_;
  Loop::Hold timer_;
  std::uint64_t next_pause_ = 1;
  std::map<std::uint64_t, Loop::Hold> pauses_;
};

}  // namespace reeve::runtime
