#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "engine/decision.h"
#include "ledger/approvals.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/loop/coalesced.h"
#include "runtime/runs/supervisor.h"

namespace reeve::runtime {

// Manages approvals (SPEC §2): decides and expires them, sends reminders, and resumes the runs that asked. Reports
// ApplyGranted to the inbox when a branch may be applied (ISO-3), and at each poll. All state is
// recovered from the store after a crash (APR-13). Lives on the loop.
class Approvals {
 public:
  Approvals(RuntimeContext& context, Supervisor& supervisor, ExecutionDriver& driver);
  Approvals(const Approvals&) = delete;
  Approvals& operator=(const Approvals&) = delete;

  struct Decision {
    engine::Answer answer;
    // For a question that asks for a secret: typed into the terminal, never stored.
    std::optional<std::string> secret = {};
    // A repeated request with the same key gets the decision made by the first one.
    std::optional<Idempotency> idempotency = {};
    // Called in the transaction of a decision that approves, which it can refuse by throwing. May be called again after
    // a rollback.
    std::function<void(ledger::Transaction& transaction, const model::Approval& approved)> along = {};
  };
  using Answered = std::function<void(std::expected<model::Approval, base::Error>)>;
  // APR-2, APR-3. Errors: `approval.not_found`, `approval.already_resolved` (with who decided what),
  // `approval.expired`, `approval.unknown_choice`, `approval.choice_needed`, `approval.contradiction`,
  // `approval.text_needed`, `approval.takes_no_text`, `approval.secret_needed`, `run.not_here` (a secret for a run that
  // this daemon does not manage).
  void decide(base::ApprovalId id, Decision decision, Answered answered);

  struct Refusal {
    std::string run;
    pid_t pid = 0;
    std::string action;
  };
  // APR-11: a process inside a run tried to decide. Stores an event and an audit entry, regardless of how its request
  // ends.
  void record_refusal(const Refusal& refusal);

  // Calls `over` once, when the approval is decided or expires; soon if that has already happened. Errors:
  // `approval.not_found`. Destroying the hold ends the wait.
  [[nodiscard]] Loop::Hold wait(base::ApprovalId id, Answered over);

  // APR-4: expires overdue approvals, sends reminders at half of their time, and sets the timer for the next of either.
  void expire_due();
  // APR-13: acts on decisions made while no daemon was running, and expires overdue approvals.
  void begin();
  // Acts on decisions made by a plain SQL update (APR-6).
  void on_outside_answer(const ledger::OutsideResult& result);
  // Schedules its expiry and reminder.
  void on_question_asked(const model::Approval& approval);
  // An approval may have been closed: notifies the callers waiting for it.
  void notify_waiters();
  // The fallback behind all events (APR-6): called when another process wrote to the store or a poll found
  // something to do.
  void poll();

 private:
  void act(const ledger::StepResult& step, const std::optional<std::string>& secret);
  void notify(const model::Approval& approval);
  void set_timer(std::optional<base::WallTime> due);
  void check_clock();
  void resume_granted();
  void poll_waiting_runs();
  void expire(base::ApprovalId id);
  void remind(base::ApprovalId id);

  RuntimeContext& context_;
  Supervisor& supervisor_;
  ExecutionDriver& driver_;
  HoldMap<base::ApprovalId, Answered> waiters_{context_.loop};
  // The next known expiry or reminder.
  std::optional<base::WallTime> due_;
  Loop::Hold timer_;
  bool is_reading_due_ = false;
  base::BootTime polled_at_;
  // A poll that came too soon after the last one: another daemon's decision must not wait for the next one.
  Loop::Hold next_poll_;
  // Reading approvals with waiters from the store.
  Coalesced reading_;
  // Wall time minus BOOTTIME, as last observed; a change means that the wall clock jumped.
  std::optional<base::Milliseconds> clock_offset_;
};

}  // namespace reeve::runtime
