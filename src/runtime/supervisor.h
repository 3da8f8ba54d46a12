#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/hold_map.h"
#include "runtime/idempotency.h"
#include "runtime/leftovers.h"
#include "runtime/live_run.h"
#include "runtime/work_thread.h"

namespace reeve::runtime {

// Granted and not begun, looked at in one go; there are as many as people say yes while no daemon is there.
inline constexpr std::int64_t most_granted = 10'000;

// Before what could not be killed is tried again; then twice as long each time.
inline constexpr base::Milliseconds first_kill_pause = std::chrono::seconds(1);

// All runs of this daemon: starts them (RUN-1), takes over those of its predecessor (RUN-13), ends them, and tells what
// becomes of them.
class Supervisor {
 public:
  explicit Supervisor(Surroundings& around);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using RunAnswer = std::function<void(std::expected<model::Run, base::Error>)>;

  // The one way in which anything is started for a person. The run exists in the store before its process does.
  void start(RunPlan plan, std::optional<Idempotency> idempotency, RunAnswer answer);
  // The same for a node (GRF-13): `along` belongs into the transaction that creates the run, and what it throws undoes
  // it.
  using Along = std::function<void(ledger::Transaction&, base::RunId)>;
  void start(RunPlan plan, Along along, RunAnswer answer);
  // Told of each change of a run's record, after its commit.
  void set_changed(std::function<void(const model::Run&)> changed) { changed_ = std::move(changed); }

  // Told of an attempt that was lost half-done and of which nothing lives, before its run may go on: what it left is
  // put aside (ISO-1). With an error the run fails.
  using LostAnswer = std::function<void(const std::optional<base::Error>&)>;
  void set_lost(std::function<void(const model::Run&, LostAnswer)> lost) { lost_ = std::move(lost); }
  // Kills what an attempt left behind, and gives what is still there. On a thread of its own; waits for a moment. For
  // tests to replace.
  using KillLeftovers = std::function<std::vector<std::string>(const LostAttempt&)>;
  void set_kill_leftovers(KillLeftovers kill) { kill_leftovers_ = std::move(kill); }

  // RUN-13, once, before anything is started. Calls when every run has been looked at.
  void recover(std::function<void()> done);

  // GRF-13: a run of a host that is gone for longer than its keepers wait for a daemon, so that nothing of it lives. It
  // is this daemon's from now on: one that was begun goes through `on_interrupted`, one that waits for an answer goes
  // on here. `plan` is how it would be started here.
  void take_over(const model::Run& run, RunPlan plan, std::function<void()> done);

  // RUN-15. `kill`: without grace.
  struct Cancellation {
    std::string by;
    std::optional<std::string> reason;
    bool kill = false;
  };
  void cancel(base::RunId run, Cancellation cancellation, RunAnswer answer);

  // Every run in this daemon's hands.
  void cancel_all(const Cancellation& cancellation);

  // The same, and calls once nothing of it runs any more, or when it was over before.
  void cancel_and_wait(base::RunId run, Cancellation cancellation, std::function<void()> gone);

  // A run that lives in this daemon's hands; nullptr for all others.
  LiveRun* find(base::RunId run) noexcept;
  // The run whose keeper that process is.
  std::optional<base::RunId> find_held_by(pid_t keeper) const noexcept;
  // Told when a run begins to live in this daemon's hands, and when it does no more.
  struct Door {
    std::function<void(base::RunId)> open = [](base::RunId) {};
    std::function<void(base::RunId)> close = [](base::RunId) {};
  };
  void set_door(Door door) { door_ = std::move(door); }
  // Calls once, when the run is over (or, without `through_approvals`, waits for an approval), and with nothing when
  // `patience` is over. The hold ends the wait.
  struct Wait {
    base::RunId run{0};
    bool through_approvals = true;
  };
  [[nodiscard]] Loop::Hold wait(Wait wait, std::function<void(const model::Run&)> over);
  // Calls whenever there is more output of the run, or it is known where it ends.
  [[nodiscard]] Loop::Hold follow_output(base::RunId run, std::function<void()> more);

  // The answer to a run's question is stored: what is to be done now (APR-5). `secret` is typed and kept nowhere.
  void follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret);
  // The next attempt of a run that has left, on a grant (APR-7). Harmless when somebody was faster.
  void resume(base::RunId run, base::ApprovalId grant);
  // Told of each question that a run asks.
  void set_asked(std::function<void(const model::Approval&)> asked) { asked_ = std::move(asked); }

  void take(Digest digest);
  void renew_leases();
  // Removes what only a run that may still be started needs.
  void clean_up(base::RunId run);
  // A run waits, or does no more.
  void note_waiting(const model::Run& run);
  // Where many share a store: of runs that waited, those that another daemon has ended. At most once a poll.
  void look_for_ended();
  // Runs in this daemon's hands that wait for an answer, as it knows.
  std::vector<base::RunId> find_waiting() const;
  // Runs of nodes in this daemon's hands: those that have a process, and those that wait for an answer.
  std::vector<base::RunId> find_runs_of_nodes() const;
  std::size_t live_runs() const noexcept { return runs_.size(); }

 private:
  // Room for one more run, as long as it is held; nothing when there are no descriptors for one. May be released on any
  // thread.
  std::shared_ptr<void> find_place() const;
  // The same with a keeper; `run.no_descriptors` also while runs of the last daemon wait for room.
  void take_keeper(KeeperPool::Taken taken);
  std::size_t count_places() const;
  struct Waiter {
    Wait wait;
    std::function<void(const model::Run&)> over;
  };
  // A run that has been stored, and who will hold it.
  struct Begun {
    model::Run record;
    ledger::AttemptClaim claim;
    std::string nonce;
    std::optional<base::BootTime> deadline;
  };

  // What makes this start different from others.
  struct StartTerms {
    std::optional<Idempotency> idempotency = {};
    Along along = [](ledger::Transaction&, base::RunId) {};
  };
  void start(RunPlan plan, StartTerms terms, RunAnswer answer);
  void start_with(RunPlan plan, StartTerms terms, IdleKeeper keeper, RunAnswer answer);
  LiveRun& add(LiveRun::Start start);
  void tell_changed(const model::Run& run);
  void tell_followers(base::RunId run);
  void forget(base::RunId run);
  std::optional<base::BootTime> deadline_for(const RunPlan& plan) const;
  ledger::AttemptStart make_attempt(const ledger::KeeperIdentity& keeper,
                                    const std::optional<base::BootTime>& deadline) const;

  void resume_with(base::RunId run, base::ApprovalId grant, RunPlan plan, IdleKeeper keeper);
  void resume_later(base::RunId run, base::ApprovalId grant);
  void fail_resume(base::RunId run, base::ApprovalId grant);

  // RUN-13.
  struct Found {
    ledger::LiveAttempt attempt;
    model::Run record;
    // What it asked last.
    std::optional<store::ApprovalRow> question;
    // What the attempt was started on.
    std::optional<Resumption> resumption;
    bool has_paused = false;
    // Its node is over, or does it in another run: nothing of it may begin any more.
    bool is_orphan = false;
  };
  static std::vector<Found> find_attempts(ledger::Transaction& transaction, std::optional<base::RunId> only);
  void recover_one(Found found, std::function<void()> done);
  void lose(base::RunId run);
  void take_given_up(base::RunId run);
  void look_again(Found found, os::Fd socket, std::function<void()> done);
  void recover_anew(const Found& found, std::function<void()> done);
  void start_again(Found found, RunPlan plan, std::function<void()> done);
  // What is done once nothing of the lost attempt lives.
  using Act = void (Supervisor::*)(Found, std::function<void()>);
  void end_leftovers(Found found, std::function<void()> done, Act act, base::Milliseconds pause = first_kill_pause);
  void tell_leftovers(const Found& found, const std::vector<std::string>& left);
  void interrupt(Found found, std::function<void()> done);
  void settle_interruption(Found found, std::optional<RunPlan> plan, model::OnInterrupted policy,
                           std::function<void()> done);
  // What lies on the disk of an attempt, and whether its keeper lives. Throws when that cannot be seen now.
  struct Traces {
    std::optional<std::string> launch;
    std::optional<os::Fd> socket;
    std::optional<keeper::ExitRecord> exit;
    bool is_same_boot = false;
    bool is_held = false;
    bool is_marked = false;
  };
  Traces look_at(const Found& found) const;
  void adopt_later(Found found);
  void finish_ending(Found found, std::function<void()> done);
  void give_up(Found found, std::function<void()> done);
  void try_later(Found found, std::function<void()> done, base::Milliseconds pause = std::chrono::seconds(1));
  void rerun(const Found& found, RunPlan plan, std::function<void()> done);
  LiveRun::Start make_start(const Found& found, RunPlan plan) const;

  Surroundings& around_;
  Door door_;
  std::map<base::RunId, std::unique_ptr<LiveRun>> runs_;
  HoldMap<base::RunId, Waiter> waiters_{around_.loop};
  HoldMap<base::RunId, std::function<void()>> followers_{around_.loop};
  std::map<base::RunId, Loop::Own<KeeperLink>> lookers_;
  std::uint64_t next_pause_ = 1;
  std::map<std::uint64_t, Loop::Hold> pauses_;
  // How often a run that never began was started again.
  std::map<base::RunId, int> starts_;
  // On their way to an attempt, with a keeper or without.
  std::shared_ptr<std::atomic<std::size_t>> places_taken_ = std::make_shared<std::atomic<std::size_t>>(0);
  // Alive in the hands of their keepers, whose pids stand here, while there are no descriptors for them.
  std::map<base::RunId, pid_t> unadopted_;
  // On their way to their next attempt.
  std::set<base::ApprovalId> resuming_;
  // Runs that wait for an answer, with a process or without: their launches lie here. The ones that a node runs are
  // marked.
  std::map<base::RunId, bool> waiting_;
  base::BootTime next_look_;
  std::function<void(const model::Run&, LostAnswer)> lost_ = [](const model::Run&, const LostAnswer& answer) {
    answer(std::nullopt);
  };
  std::function<void(const model::Run&)> changed_ = [](const model::Run&) {};
  std::function<void(const model::Approval&)> asked_ = [](const model::Approval&) {};
  KillLeftovers kill_leftovers_;
  // Last: what it does uses the above.
  WorkThread killer_;
};

}  // namespace reeve::runtime
