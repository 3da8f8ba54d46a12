#include "runtime/approvals.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "ledger/expiry.h"
#include "runtime/store_task.h"
#include "store/approvals.h"

namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;
using model::Approval;

constexpr std::int64_t most_at_once = 100;
constexpr auto look_pause = std::chrono::seconds(1);

Error not_found(base::ApprovalId id) {
  return {"approval.not_found", fmt::format("there is no approval {}", id.text()),
          "`reeve approvals --all` shows those there are"};
}

std::string list_options(const std::vector<model::ApprovalOption>& options) {
  std::vector<std::string> values;
  for (const model::ApprovalOption& option : options) values.push_back(base::quoted(option.value));
  return fmt::format("choose {}{}", values.size() == 1 ? "" : "one of ", base::join(values, ", "));
}

// UX: «AP-31 was already approved by ana at 14:04:58 ("ship it"). Nothing changed.» On another day with its date.
std::string describe_resolved(const Approval& approval, base::WallTime now) {
  std::string text = fmt::format("{} {} {}", approval.approval_id.text(),
                                 approval.status == model::ApprovalStatus::expired ? "has" : "was already",
                                 base::spell(approval.status));
  if (approval.decided_by) text += " by " + *approval.decided_by;
  if (approval.decided_at) {
    constexpr std::size_t day = 10;
    constexpr std::size_t time = 8;
    const std::string then = base::format_time(*approval.decided_at);
    if (then.substr(0, day) != base::format_time(now).substr(0, day)) text += " on " + then.substr(0, day);
    text += " at " + then.substr(day + 1, time) + " UTC";
  }
  if (approval.comment && !approval.comment->empty()) text += fmt::format(" (\"{}\")", *approval.comment);
  return text + ". Nothing changed.";
}

// An option that says no is no way to approve, nor the other way round.
Error explain_contradiction(const Approval& approval, const engine::Answer& answer) {
  const bool is_yes = answer.word == engine::Answer::Word::approve;
  const std::string id = approval.approval_id.text();
  std::string fix = fmt::format("if that is meant: reeve {} {}", is_yes ? "reject" : "approve", id);
  std::vector<model::ApprovalOption> others = approval.options;
  std::erase_if(others, [&](const model::ApprovalOption& option) { return model::approves(option) != is_yes; });
  if (!others.empty()) fix += fmt::format("; else {}", list_options(others));
  return {"approval.contradiction",
          fmt::format("{} of {} says {}", base::quoted(answer.choice.value_or("")), id, is_yes ? "no" : "yes"),
          std::move(fix)};
}

Error explain(engine::Refusal refusal, const Approval& approval, const engine::Answer& answer, base::WallTime now) {
  const std::string id = approval.approval_id.text();
  switch (refusal) {
    case engine::Refusal::already_resolved:
      return {"approval.already_resolved", describe_resolved(approval, now)};
    case engine::Refusal::expired:
      return {"approval.expired", fmt::format("{} has expired: nobody answered in time. Nothing changed.", id)};
    case engine::Refusal::unknown_choice:
      return {"approval.unknown_choice",
              fmt::format("{} is none of the options of {}", base::quoted(answer.choice.value_or("")), id),
              list_options(approval.options)};
    case engine::Refusal::choice_needed:
      return {"approval.choice_needed", fmt::format("{} can be answered in several ways", id),
              list_options(approval.options)};
    case engine::Refusal::contradiction:
      return explain_contradiction(approval, answer);
  }
  return {"approval.not_found", id};
}

// A secret is asked for once the answer is a yes; a no needs none. It is given to a run in this daemon's hands or to
// none: it is stored nowhere, so that no other daemon could type it.
void check_secret(Transaction& transaction, base::ApprovalId id, const Approvals::Decision& decision,
                  const std::vector<base::RunId>& here) {
  const auto row = store::find_approval(transaction.session(), id);
  if (!row || !row->approval.secret || row->approval.status != model::ApprovalStatus::pending) return;
  const auto run = row->approval.tool_run_id;
  if (decision.secret && run && std::ranges::find(here, *run) == here.end()) {
    throw Error("run.not_here", fmt::format("{} is not in this daemon's hands at the moment", run->text()),
                "it is being taken over, or another daemon's: try again in a moment, or there");
  }
  const auto decided = engine::decide(row->approval, decision.answer, transaction.now());
  const auto* choice = std::get_if<engine::Decided>(&decided);
  if (choice != nullptr && choice->status == model::ApprovalStatus::approved && !decision.secret) {
    throw Error("approval.secret_needed", fmt::format("{} asks for a secret", id.text()),
                "`reeve approve` asks for it on the terminal; it is neither stored nor shown");
  }
}

struct Outcome {
  ledger::DecisionResult result;
  bool is_repeated = false;
};

Outcome decide_once(Transaction& transaction, ledger::Executions& executions, const ledger::Worker& worker,
                    base::ApprovalId id, const Approvals::Decision& decision, const std::vector<base::RunId>& here) {
  if (find_answer(transaction, decision.idempotency)) {
    Outcome repeated{.is_repeated = true};
    if (auto row = store::find_approval(transaction.session(), id)) repeated.result.approval = std::move(row->approval);
    return repeated;
  }
  check_secret(transaction, id, decision, here);
  Outcome outcome{.result = ledger::decide_approval(transaction, executions, worker, id, decision.answer)};
  const bool is_decided = outcome.result.approval && !outcome.result.refusal;
  if (is_decided) remember_answer(transaction, decision.idempotency, id.text());
  return outcome;
}

}  // namespace

Approvals::Approvals(Surroundings& around, Supervisor& supervisor, Worker& worker)
    : around_(around), supervisor_(supervisor), worker_(worker) {
  supervisor_.set_asked([this](const Approval& approval) { note_opened(approval); });
}

void Approvals::decide(base::ApprovalId id, Decision decision, Answered answered) {
  look_at_clock();
  auto shared = std::make_shared<Decision>(std::move(decision));
  auto here = shared->secret ? supervisor_.find_waiting() : std::vector<base::RunId>();
  ask_store(
      around_.ledger, around_.loop,
      [id, shared, here = std::move(here), &ledger = around_.ledger](Transaction& transaction) {
        return decide_once(transaction, ledger.executions(), ledger.worker(), id, *shared, here);
      },
      [this, id, shared, answered = std::move(answered)](std::expected<Outcome, Error> outcome) {
        if (!outcome) return answered(std::unexpected(outcome.error()));
        ledger::DecisionResult& result = outcome->result;
        if (!result.approval) return answered(std::unexpected(not_found(id)));
        if (result.refusal) {
          return answered(
              std::unexpected(explain(*result.refusal, *result.approval, shared->answer, around_.clock.wall_now())));
        }
        if (!outcome->is_repeated) {
          around_.crash_point("approval.after_decide");
          act(result.step, shared->secret);
          tell(*result.approval);
        }
        answered(std::move(*result.approval));
      });
}

void Approvals::act(const ledger::StepResult& step, const std::optional<std::string>& secret) {
  for (const ledger::RunConsequence& consequence : step.runs) supervisor_.follow(consequence, secret);
  worker_.take(step);
  if (!step.applies.empty()) may_apply_();
}

void Approvals::tell(const Approval& approval) {
  for (const Answered& over : waiters_.take(approval.approval_id, [](const Answered&) { return true; })) {
    over(approval);
  }
}

Loop::Hold Approvals::wait(base::ApprovalId id, Answered over) {
  Loop::Hold hold = waiters_.add(id, std::move(over));
  ask_store(
      around_.ledger, around_.loop,
      [id](Transaction& transaction) { return store::find_approval(transaction.session(), id); },
      [this, id](std::expected<std::optional<store::ApprovalRow>, Error> row) {
        const bool is_open = row && *row && (*row)->approval.status == model::ApprovalStatus::pending;
        if (is_open) return;
        for (const Answered& waiter : waiters_.take(id, [](const Answered&) { return true; })) {
          if (!row) {
            waiter(std::unexpected(row.error()));
          } else if (!*row) {
            waiter(std::unexpected(not_found(id)));
          } else {
            waiter((*row)->approval);
          }
        }
      });
  return hold;
}

// Told of whatever closed it: an answer at the terminal, the end of its run, another daemon.
void Approvals::look_at_waiters() {
  const std::vector<base::ApprovalId> ids = waiters_.keys();
  if (ids.empty()) return;
  // What is closed while this is read may be missed by it: looked at once more.
  if (is_reading_) {
    must_read_again_ = true;
    return;
  }
  is_reading_ = true;
  ask_store(
      around_.ledger, around_.loop,
      [ids](Transaction& transaction) {
        std::vector<Approval> closed;
        for (const base::ApprovalId id : ids) {
          auto row = store::find_approval(transaction.session(), id);
          const bool is_closed = row && row->is_settled && row->approval.status != model::ApprovalStatus::pending;
          if (is_closed) closed.push_back(std::move(row->approval));
        }
        return closed;
      },
      [this](const std::expected<std::vector<Approval>, Error>& closed) {
        is_reading_ = false;
        // A store that cannot be read is told to whoever begins to wait.
        if (!closed) return;
        for (const Approval& approval : *closed) tell(approval);
        if (std::exchange(must_read_again_, false)) look_at_waiters();
      });
}

void Approvals::begin() {
  look_at_clock();
  look_at_time();
  go_on_with_granted();
  may_apply_();
}

void Approvals::take_outside(const ledger::OutsideResult& result) {
  act(result.step, std::nullopt);
  if (result.approval && result.approval->status != model::ApprovalStatus::pending) tell(*result.approval);
}

void Approvals::note_opened(const Approval& approval) {
  if (!approval.expires_at) {
    // Known by its id alone: its time is read.
    look_at_time();
    return;
  }
  const base::WallTime half = approval.created_at + (*approval.expires_at - approval.created_at) / 2;
  set_timer(due_ ? std::min(*due_, half) : half);
}

void Approvals::set_timer(std::optional<base::WallTime> due) {
  due_ = due;
  timer_ = {};
  if (!due_) return;
  const auto left = std::max(*due_ - around_.clock.wall_now(), base::Milliseconds(0));
  timer_ = around_.loop.at(around_.loop.now() + left, [this] { look_at_time(); });
}

void Approvals::look_at_time() {
  if (std::exchange(is_looking_, true)) return;
  timer_ = {};
  // A clock that has jumped is no time that has passed.
  look_at_clock();
  ask_store(
      around_.ledger, around_.loop,
      [](Transaction& transaction) { return ledger::find_due(transaction, most_at_once); },
      [this](std::expected<ledger::TimeDue, Error> due) {
        is_looking_ = false;
        if (!due) {
          around_.complain(fmt::format("cannot look for what is overdue: {}", due.error().message()));
          set_timer(around_.clock.wall_now() + look_pause);
          return;
        }
        for (const base::ApprovalId id : due->overdue) expire(id);
        for (const base::ApprovalId id : due->half) remind(id);
        // Those of now are not over before their own units are: looked at again a little later.
        const bool has_some = !due->overdue.empty() || !due->half.empty();
        set_timer(has_some ? std::optional(around_.clock.wall_now() + look_pause) : due->next);
      });
}

// APR-14: what goes wrong with one is told, and keeps none of the others.
void Approvals::expire(base::ApprovalId id) {
  struct Expired {
    std::optional<Approval> approval;
    ledger::StepResult step;
  };
  ask_store(
      around_.ledger, around_.loop,
      [id, &ledger = around_.ledger](Transaction& transaction) {
        Expired expired;
        expired.approval = ledger::expire_approval(transaction, ledger.executions(), ledger.worker(), id, expired.step);
        return expired;
      },
      [this, id](std::expected<Expired, Error> expired) {
        if (!expired) {
          around_.complain(fmt::format("{} cannot be expired: {}", id.text(), expired.error().message()));
          return;
        }
        act(expired->step, std::nullopt);
        if (expired->approval) tell(*expired->approval);
      });
}

void Approvals::remind(base::ApprovalId id) {
  ask_store(
      around_.ledger, around_.loop, [id](Transaction& transaction) { ledger::remind(transaction, id); },
      [this, id](std::expected<void, Error> told) {
        if (!told) around_.complain(fmt::format("{}: nobody could be reminded: {}", id.text(), told.error().message()));
      });
}

// DESIGN «Time»: a jump of the wall clock is no reason to call somebody too late.
void Approvals::look_at_clock() {
  // Where many machines share a store its own clock counts.
  if (around_.lease) return;
  const auto boot = std::chrono::duration_cast<base::Milliseconds>(around_.clock.boot_now().time_since_epoch());
  const base::Milliseconds offset = around_.clock.wall_now().time_since_epoch() - boot;
  const bool is_same = clock_offset_ && std::chrono::abs(offset - *clock_offset_) < std::chrono::seconds(1);
  if (is_same) return;
  clock_offset_ = offset;
  ask_store(
      around_.ledger, around_.loop,
      [host = around_.host, boot_id = around_.boot_id, offset](Transaction& transaction) {
        return ledger::note_clock(transaction, host, boot_id, offset);
      },
      [this](std::expected<bool, Error> shifted) {
        if (!shifted) {
          clock_offset_.reset();
        } else if (*shifted) {
          look_at_time();
        }
      });
}

void Approvals::go_on_with_granted() {
  ask_store(
      around_.ledger, around_.loop,
      [host = around_.host](Transaction& transaction) {
        return ledger::find_granted(transaction.session(), host, most_granted);
      },
      [this](std::expected<std::vector<ledger::GrantedRun>, Error> granted) {
        if (!granted) return;
        for (const ledger::GrantedRun& one : *granted) supervisor_.resume(one.run, one.approval);
      });
}

void Approvals::look() {
  // Its own commits are noticed too: not after each of them.
  const base::BootTime now = around_.loop.now();
  const bool is_soon = now - looked_at_ < (around_.lease ? base::Milliseconds(20) : base::Milliseconds(look_pause));
  if (is_soon) return;
  looked_at_ = now;
  look_at_time();
  go_on_with_granted();
  look_at_waiting();
  may_apply_();
  if (around_.lease) {
    look_at_waiters();
    supervisor_.look_for_ended();
  }
}

// Of runs in this daemon's hands whose question another daemon has closed.
void Approvals::look_at_waiting() {
  const std::vector<base::RunId> waiting = supervisor_.find_waiting();
  if (waiting.empty()) return;
  ask_store(
      around_.ledger, around_.loop,
      [waiting](Transaction& transaction) { return ledger::find_answered(transaction, waiting); },
      [this](std::expected<std::vector<ledger::RunConsequence>, Error> answered) {
        if (!answered) return;
        for (const ledger::RunConsequence& consequence : *answered) {
          // One that was typed by nobody yet: the keeper knows.
          supervisor_.follow(consequence, std::nullopt);
          tell(consequence.approval);
        }
      });
}

}  // namespace reeve::runtime
