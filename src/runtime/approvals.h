#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "engine/decision.h"
#include "ledger/approvals.h"
#include "runtime/supervisor.h"
#include "runtime/worker.h"

namespace reeve::runtime {

// Questions on their way to an answer and beyond (SPEC §2): decides them, lets them expire, reminds, and sees to what
// follows for the runs that asked. All of it is found in the store again after a crash (APR-13). Lives on the loop.
class Approvals {
 public:
  Approvals(Surroundings& around, Supervisor& supervisor, Worker& worker);
  Approvals(const Approvals&) = delete;
  Approvals& operator=(const Approvals&) = delete;

  struct Decision {
    engine::Answer answer;
    // For a question that wants one: typed, and kept nowhere.
    std::optional<std::string> secret = {};
    // Asked again with the same key, it is answered with what was decided then.
    std::optional<Idempotency> idempotency = {};
  };
  using Answered = std::function<void(std::expected<model::Approval, base::Error>)>;
  // APR-2, APR-3. Errors: `approval.not_found`, `approval.already_resolved` (with who decided what),
  // `approval.expired`, `approval.unknown_choice`, `approval.choice_needed`, `approval.contradiction`,
  // `approval.secret_needed`, `run.not_here` (a secret for a run in other hands).
  void decide(base::ApprovalId id, Decision decision, Answered answered);

  // Calls once, when it has been decided or has expired; at once when it was before. Errors: `approval.not_found`. The
  // hold ends the wait.
  [[nodiscard]] Loop::Hold wait(base::ApprovalId id, Answered over);

  // APR-4: expires what is overdue, reminds of what has used half of its time, and finds the next of both.
  void look_at_time();
  // APR-13: goes on with what was decided while no daemon was there, and expires what is overdue.
  void begin();
  // By a plain SQL update (APR-6).
  void take_outside(const ledger::OutsideResult& result);
  // A question was asked: its time counts.
  void note_opened(const model::Approval& approval);
  // Some question was closed: tells those who wait for it.
  void look_at_waiters();
  // Told when a branch may go into the checkout (ISO-3), and at each look.
  void set_may_apply(std::function<void()> may_apply) { may_apply_ = std::move(may_apply); }
  // The net behind all events (APR-6): the store was polled, or somebody else has written to it.
  void look();

 private:
  void act(const ledger::StepResult& step, const std::optional<std::string>& secret);
  void tell(const model::Approval& approval);
  void set_timer(std::optional<base::WallTime> due);
  void look_at_clock();
  void go_on_with_granted();
  void look_at_waiting();
  void expire(base::ApprovalId id);
  void remind(base::ApprovalId id);

  Surroundings& around_;
  Supervisor& supervisor_;
  Worker& worker_;
  std::function<void()> may_apply_ = [] {};
  HoldMap<base::ApprovalId, Answered> waiters_{around_.loop};
  // The next expiry or reminder that is known.
  std::optional<base::WallTime> due_;
  Loop::Hold timer_;
  bool is_looking_ = false;
  base::BootTime looked_at_;
  // Of those that are waited for.
  bool is_reading_ = false;
  bool must_read_again_ = false;
  // Wall time minus BOOTTIME, as it was seen last.
  std::optional<base::Milliseconds> clock_offset_;
};

}  // namespace reeve::runtime
