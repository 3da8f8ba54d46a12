#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/recovery.h"
#include "runtime/inbox/inbox.h"
#include "runtime/loop/coalesced.h"
#include "runtime/loop/hold_map.h"
#include "runtime/loop/work_thread.h"
#include "runtime/runs/attempt_traces.h"
#include "runtime/runs/idempotency.h"
#include "runtime/runs/leftovers.h"
#include "runtime/runs/live_run.h"
#include "runtime/runs/run_queue.h"
#include "runtime/runs/stdin_streams.h"

namespace reeve::runtime {

// Approved or released but not started runs handled in one pass; approvals made while no daemon is running can pile up.
inline constexpr std::int64_t max_granted = 10'000;

// Pause before killing leftover processes is retried; doubles each time.
inline constexpr base::Milliseconds first_kill_pause = std::chrono::seconds(1);

// All runs of this daemon: starts them (RUN-1), takes over those of its predecessor (RUN-13), ends them, and reports
// their changes, questions and losses to the inbox.
class Supervisor {
 public:
  // Kills the processes that an attempt left behind and returns those still alive. Runs on its own thread and waits
  // briefly.
  using KillLeftovers = std::function<std::vector<std::string>(const LostAttempt&)>;

  // `kill` is for tests.
  explicit Supervisor(RuntimeContext& context, KillLeftovers kill = nullptr);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using RunAnswer = std::function<void(std::expected<model::Run, base::Error>)>;

  // The only way to start a process for a user. The run exists in the store before its process does.
  void start(RunPlan plan, std::optional<Idempotency> idempotency, RunAnswer answer);
  // The same for a node (GRF-13): `along` runs in the transaction that creates the run, and an exception from it rolls
  // that back.
  using Along = std::function<void(ledger::Transaction&, base::RunId)>;
  void start(RunPlan plan, Along along, RunAnswer answer);

  // RUN-14. From now on queued runs start; called when the slots that are in use are known.
  void begin_queue();
  // Starts queued runs as far as there are slots for them.
  void start_queued();
  RunQueue& queue() noexcept { return queue_; }
  // RUN-9
  StdinStreams& stdin_streams() noexcept { return stdin_; }

  // RUN-13. Called once, before anything is started. Calls `done` when every run has been examined.
  void recover(std::function<void()> done);

  // GRF-13: takes over a run of a host that has been gone for longer than its keepers wait for a daemon, so that none
  // of its processes is alive. A run that began follows `on_interrupted`; a run that waits for an answer continues
  // here. `plan` says how to start it here.
  void take_over(const model::Run& run, RunPlan plan, std::function<void()> done);

  // RUN-15. `kill` skips the grace period.
  struct Cancellation {
    std::string by;
    std::optional<std::string> reason;
    bool kill = false;
  };
  void cancel(base::RunId run, Cancellation cancellation, RunAnswer answer);

  // Cancels every run of this daemon.
  void cancel_all(const Cancellation& cancellation);

  // The same for one run; calls `gone` once none of its processes runs, or if it had already ended.
  void cancel_and_wait(base::RunId run, Cancellation cancellation, std::function<void()> gone);

  // A live run of this daemon; nullptr for all others.
  LiveRun* find(base::RunId run) noexcept;
  // The run whose keeper that process is.
  std::optional<base::RunId> find_held_by(pid_t keeper) const noexcept;
  // Called when a run becomes live in this daemon, and when it no longer is. Not reported to the inbox, because `open`
  // makes the run's socket, which must exist before its tool starts.
  struct RunLifetimeHooks {
    std::function<void(base::RunId)> open = [](base::RunId) {};
    std::function<void(base::RunId)> close = [](base::RunId) {};
  };
  void set_lifetime_hooks(RunLifetimeHooks hooks) { lifetime_hooks_ = std::move(hooks); }
  // Calls `over` once, when the run has ended (or, without `through_approvals`, waits for an approval; without
  // `through_queue`, is no longer queued). Destroying the hold ends the wait.
  struct Wait {
    base::RunId run{0};
    bool through_approvals = true;
    bool through_queue = true;
  };
  [[nodiscard]] Loop::Hold wait(Wait wait, std::function<void(const model::Run&)> over);
  // Calls `more` whenever the run has more output, or its end is known.
  [[nodiscard]] Loop::Hold follow_output(base::RunId run, std::function<void()> more);

  // Acts on the stored answer to a run's question (APR-5). `secret` is typed and never stored.
  void follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret);
  // Starts the next attempt of a run that has exited, with a grant (APR-7). Does nothing if the grant was used in the
  // meantime.
  void resume(base::RunId run, base::ApprovalId grant) { start_next({run, grant}); }
  // The same for a released run, whose tool calls are all answered (APR-8). Does nothing if one waits or if the run has
  // been started meanwhile.
  void resume(base::RunId run) { start_next({run, {}}); }

  void on_output_read(OutputBatch batch);
  void renew_leases();
  // Removes files that are needed only while a run may still be started.
  void clean_up(base::RunId run);
  // Records whether a run waits for an approval.
  void note_waiting(const model::Run& run);
  // With a shared store: finds waiting runs that another daemon has ended. At most once per poll.
  void poll_ended();
  // With a shared store: finds calls of live runs that another daemon has answered.
  void poll_calls();
  // With a shared store: pauses and continues live runs as another daemon has stored it.
  void poll_pauses();
  // This daemon's runs that wait for an answer, as far as it knows.
  std::vector<base::RunId> find_waiting() const;
  // This daemon's runs of nodes: those with a process and those that wait for an answer.
  std::vector<base::RunId> find_runs_of_nodes() const;
  std::size_t live_runs() const noexcept { return runs_.size(); }

 private:
  // Reserves descriptors for one more run while held; null if there are not enough. May be released on any thread.
  std::shared_ptr<void> find_place() const;
  // The same with a keeper; also `run.no_descriptors` while runs of the previous daemon wait to be adopted.
  void take_keeper(KeeperPool::Taken taken);
  std::size_t count_places() const;
  struct Waiter {
    Wait wait;
    std::function<void(const model::Run&)> over;
  };
  // A stored run and its claim.
  struct Begun {
    model::Run record;
    ledger::AttemptClaim claim;
    std::string nonce;
    std::optional<base::BootTime> deadline;
  };

  // Variations of a start.
  struct StartTerms {
    std::optional<Idempotency> idempotency = {};
    Along along = [](ledger::Transaction&, base::RunId) {};
  };
  void start(RunPlan plan, StartTerms terms, RunAnswer answer);
  void start_with(RunPlan plan, StartTerms terms, IdleKeeper keeper, RunAnswer answer);
  LiveRun& add(LiveRun::Start start);

  // RUN-14, in queued_runs.cpp.
  void enqueue(RunPlan plan, StartTerms terms, RunAnswer answer);
  void restore_queue(std::function<void()> done);
  void start_taken(base::RunId run);
  void start_taken_with(base::RunId run, RunPlan plan, IdleKeeper keeper);
  void fail_taken(base::RunId run, const std::string& reason);
  void retry_taken(base::RunId run);
  // A run left the queue: answers its starter, and performs the cancels that came meanwhile.
  void finish_taking(base::RunId run, std::expected<model::Run, base::Error> record);
  void perform_late_cancels(base::RunId run);
  void on_report(base::RunId id, const LiveRun::Report& report);
  void tell_changed(const model::Run& run);
  void tell_followers(base::RunId run);
  void forget(base::RunId run);
  // The run is no longer live in this daemon.
  void remove(base::RunId run);
  // Runs the task after the pause if this object still exists then.
  void after(base::Milliseconds pause, Loop::Task task);
  std::optional<base::BootTime> deadline_for(const RunPlan& plan) const;
  ledger::AttemptStart make_attempt(const ledger::KeeperIdentity& keeper,
                                    const std::optional<base::BootTime>& deadline) const;

  // In stored_pauses.cpp.
  void follow_pause(base::RunId run, bool is_paused);
  void refuse_pause(base::RunId run, const ledger::AttemptClaim& claim);

  void start_next(const Continuation& next);
  void start_next_with(const Continuation& next, RunPlan plan, IdleKeeper keeper);
  void start_next_later(const Continuation& next);
  void fail_next(const Continuation& next, const std::string& reason);
  // Ends a run that is queued or has a process, because its standard input is incomplete.
  void break_off(base::RunId run);

  // RUN-13.
  struct Found {
    ledger::LiveAttempt attempt;
    model::Run record;
    // Its last question.
    std::optional<store::ApprovalRow> question;
    // What the attempt gets from the decisions it was started after.
    std::optional<Resumption> resumption;
    // Its tool calls that wait for a person.
    std::set<base::ApprovalId> waiting_calls = {};
    bool has_paused = false;
    // Its node has ended or uses another run: nothing of this run may start.
    bool is_orphan = false;
  };
  static std::vector<Found> find_attempts(ledger::Transaction& transaction, std::optional<base::RunId> only);
  static std::optional<Found> adopt(ledger::Transaction& transaction, Found found, std::int64_t daemon);
  void recover_one(Found found, std::function<void()> done);
  void lose(base::RunId run);
  void take_given_up(base::RunId run);
  void look_again(Found found, os::Fd socket, std::function<void()> done);
  void recover_anew(const Found& found, std::function<void()> done);
  void start_again(Found found, RunPlan plan, std::function<void()> done);
  // What to do once no process of the lost attempt is alive.
  using Act = void (Supervisor::*)(Found, std::function<void()>);
  void end_leftovers(Found found, std::function<void()> done, Act act, base::Milliseconds pause = first_kill_pause);
  void tell_leftovers(const Found& found, const std::vector<std::string>& left);
  void interrupt(Found found, std::function<void()> done);
  void settle_interruption(Found found, std::optional<RunPlan> plan, model::OnInterrupted policy,
                           std::function<void()> done);
  engine::RecoveryFacts recovery_facts(const Found& found, const AttemptTraces& traces) const;
  void adopt_later(Found found);
  void finish_ending(Found found, std::function<void()> done);
  void give_up(Found found, std::function<void()> done);
  void try_later(Found found, std::function<void()> done, base::Milliseconds pause = std::chrono::seconds(1));
  void rerun(const Found& found, RunPlan plan, std::function<void()> done);
  LiveRun::Start make_start(const Found& found, RunPlan plan) const;

  RuntimeContext& context_;
  RunLifetimeHooks lifetime_hooks_;
  std::map<base::RunId, std::unique_ptr<LiveRun>> runs_;
  HoldMap<base::RunId, Waiter> waiters_{context_.loop};
  HoldMap<base::RunId, std::function<void()>> followers_{context_.loop};
  std::map<base::RunId, Loop::Own<KeeperLink>> lookers_;
  // How often a run that never began was restarted.
  std::map<base::RunId, int> starts_;
  // Reserved for runs that are about to start an attempt, with or without a keeper.
  std::shared_ptr<std::atomic<std::size_t>> places_taken_ = std::make_shared<std::atomic<std::size_t>>(0);
  // Runs alive in their keepers (by pid) for which there are no descriptors yet.
  std::map<base::RunId, pid_t> unadopted_;
  // Runs whose next attempt is being started.
  std::set<Continuation> resuming_;
  // Runs that wait for an answer, with or without a process; their launch files are on this host. True for runs of
  // nodes.
  std::map<base::RunId, bool> waiting_;
  base::BootTime next_poll_;
  // Cancels that arrived after the process had exited, or while a queued run is being started.
  std::multimap<base::RunId, Loop::Task> late_cancels_;
  RunQueue queue_{static_cast<std::size_t>(context_.supervision.max_parallel_runs)};
  bool has_begun_queue_ = false;
  // Queued runs that are being started, and who waits for the response about them.
  std::map<base::RunId, RunAnswer> taken_;
  StdinStreams stdin_;
  Coalesced reading_pauses_;
  // Live runs that are being paused or continued as stored.
  std::set<base::RunId> following_;
  KillLeftovers kill_leftovers_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  // Declared last: its work uses the members above.
  WorkThread killer_;
};

}  // namespace reeve::runtime
