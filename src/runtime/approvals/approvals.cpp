#include "runtime/approvals/approvals.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/describe.h"
#include "ledger/expiry.h"
#include "ledger/tool_calls.h"
#include "runtime/loop/store_task.h"
#include "store/approvals.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using model::Approval;

constexpr std::int64_t max_at_once = 100;
constexpr auto poll_pause = std::chrono::seconds(1);

Error not_found(base::ApprovalId id) {
  return {ErrorCode::approval_not_found, fmt::format("there is no approval {}", id.text()),
          "`reeve approvals --all` lists all approvals"};
}

std::string list_options(const std::vector<model::ApprovalOption>& options) {
  std::vector<std::string> values;
  for (const model::ApprovalOption& option : options) values.push_back(base::quoted(option.value));
  return fmt::format("choose {}{}", values.size() == 1 ? "" : "one of ", base::join(values, ", "));
}

// UX: "AP-31 was already approved by ana at 14:04:58 ("ship it"). Nothing changed." Includes the date if it is not
// today's.
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

// A rejecting option cannot be used to approve, nor an approving one to reject.
Error explain_contradiction(const Approval& approval, const engine::Answer& answer) {
  const bool is_yes = answer.word == engine::Answer::Word::approve;
  const std::string id = approval.approval_id.text();
  std::string fix = fmt::format("to choose it anyway: reeve {} {}", is_yes ? "reject" : "approve", id);
  std::vector<model::ApprovalOption> others = approval.options;
  std::erase_if(others, [&](const model::ApprovalOption& option) { return model::approves(option) != is_yes; });
  if (!others.empty()) fix += fmt::format("; otherwise {}", list_options(others));
  return {
      ErrorCode::approval_contradiction,
      fmt::format("option {} of {} {}", base::quoted(answer.choice.value_or("")), id, is_yes ? "rejects" : "approves"),
      std::move(fix)};
}

Error explain(engine::Refusal refusal, const Approval& approval, const engine::Answer& answer, base::WallTime now) {
  const std::string id = approval.approval_id.text();
  switch (refusal) {
    case engine::Refusal::already_resolved:
      return {ErrorCode::approval_already_resolved, describe_resolved(approval, now)};
    case engine::Refusal::expired:
      return {ErrorCode::approval_expired, fmt::format("{} has expired without an answer. Nothing changed.", id)};
    case engine::Refusal::unknown_choice:
      return {ErrorCode::approval_unknown_choice,
              fmt::format("{} is not an option of {}", base::quoted(answer.choice.value_or("")), id),
              list_options(approval.options)};
    case engine::Refusal::choice_needed:
      return {ErrorCode::approval_choice_needed, fmt::format("{} can be answered in several ways", id),
              list_options(approval.options)};
    case engine::Refusal::contradiction:
      return explain_contradiction(approval, answer);
    case engine::Refusal::text_needed:
      return {ErrorCode::approval_text_needed, fmt::format("{} asks for text", id),
              fmt::format("reeve answer {} TEXT", id)};
    case engine::Refusal::takes_no_text:
      return {
          ErrorCode::approval_takes_no_text, fmt::format("{} is not answered with text", id),
          approval.secret ? fmt::format("it asks for a secret: reeve approve {}", id) : list_options(approval.options)};
  }
  return {ErrorCode::approval_not_found, id};
}

// Only an approval needs a secret, not a rejection. It is accepted only for a run that this daemon manages: it is never
// stored, so no other daemon could type it.
void check_secret(Transaction& transaction, base::ApprovalId id, const Approvals::Decision& decision,
                  const std::vector<base::RunId>& here) {
  const auto row = store::find_approval(transaction.session(), id);
  if (!row || !row->approval.secret || row->approval.status != model::ApprovalStatus::pending) return;
  const auto run = row->approval.tool_run_id;
  if (decision.secret && run && std::ranges::find(here, *run) == here.end()) {
    throw Error(ErrorCode::run_not_here, fmt::format("{} is not managed by this daemon right now", run->text()),
                "it is being taken over or belongs to another daemon: try again in a moment, or ask that daemon");
  }
  const auto decided = engine::decide(row->approval, decision.answer, transaction.now());
  const auto* choice = std::get_if<engine::Decided>(&decided);
  if (choice != nullptr && choice->status == model::ApprovalStatus::approved && !decision.secret) {
    throw Error(ErrorCode::approval_secret_needed, fmt::format("{} asks for a secret", id.text()),
                "`reeve approve` asks for it on the terminal; it is neither stored nor shown");
  }
}

struct Outcome {
  ledger::DecisionResult result;
  bool is_repeated = false;
};

Outcome decide_once(Transaction& transaction, ledger::Executions& executions, const ledger::WorkerCapacity& worker,
                    base::ApprovalId id, const Approvals::Decision& decision, const std::vector<base::RunId>& here) {
  if (find_answer(transaction, decision.idempotency)) {
    Outcome repeated{.is_repeated = true};
    if (auto row = store::find_approval(transaction.session(), id)) repeated.result.approval = std::move(row->approval);
    return repeated;
  }
  check_secret(transaction, id, decision, here);
  Outcome outcome{.result = ledger::decide_approval(transaction, executions, worker, id, decision.answer)};
  const bool is_decided = outcome.result.approval && !outcome.result.refusal;
  const bool is_approved = is_decided && outcome.result.approval->status == model::ApprovalStatus::approved;
  if (is_approved && decision.along) decision.along(transaction, *outcome.result.approval);
  if (is_decided) remember_answer(transaction, decision.idempotency, id.text());
  return outcome;
}

}  // namespace

Approvals::Approvals(RuntimeContext& context, Supervisor& supervisor, ExecutionDriver& driver)
    : context_(context), supervisor_(supervisor), driver_(driver), clock_offset_(context.clock_offset) {}

void Approvals::decide(base::ApprovalId id, Decision decision, Answered answered) {
  check_clock();
  auto shared = std::make_shared<Decision>(std::move(decision));
  auto here = shared->secret ? supervisor_.find_waiting() : std::vector<base::RunId>();
  ask_store(
      context_.ledger, context_.loop,
      [id, shared, here = std::move(here), &ledger = context_.ledger](Transaction& transaction) {
        return decide_once(transaction, ledger.executions(), ledger.worker(), id, *shared, here);
      },
      [this, id, shared, answered = std::move(answered)](std::expected<Outcome, Error> outcome) {
        if (!outcome) return answered(std::unexpected(outcome.error()));
        ledger::DecisionResult& result = outcome->result;
        if (!result.approval) return answered(std::unexpected(not_found(id)));
        if (result.refusal) {
          return answered(
              std::unexpected(explain(*result.refusal, *result.approval, shared->answer, context_.clock.wall_now())));
        }
        if (!outcome->is_repeated) {
          context_.crash_point("approval.after_decide");
          act(result.step, shared->secret);
          notify(*result.approval);
        }
        answered(std::move(*result.approval));
      });
}

void Approvals::act(const ledger::StepResult& step, const std::optional<std::string>& secret) {
  for (const ledger::RunConsequence& consequence : step.runs) supervisor_.follow(consequence, secret);
  driver_.perform(step);
  if (!step.applies.empty()) context_.inbox.post(ApplyGranted{});
}

void Approvals::notify(const Approval& approval) {
  for (const Answered& over : waiters_.take(approval.approval_id, [](const Answered&) { return true; })) {
    over(approval);
  }
}

void Approvals::record_refusal(const Refusal& refusal) {
  base::Value data = base::Value::object();
  data.set("tool_run_id", base::Value::string(refusal.run));
  data.set("pid", base::Value::integer(refusal.pid));
  data.set("action", base::Value::string(base::truncate_utf8(refusal.action, base::limits::name_bytes)));
  data.set("reason", base::Value::string("a process inside a run cannot decide"));
  const ledger::RequestTerms::Scope own_scope(nullptr);
  ask_store(
      context_.ledger, context_.loop,
      [data, actor = refusal.run](ledger::Transaction& transaction) {
        transaction.tell(model::EventKind::policy_denied, data, {});
        transaction.record(model::AuditKind::decision_refused, actor, data);
      },
      [](const std::expected<void, base::Error>&) {
        // The request is refused in any case.
      });
}

Loop::Hold Approvals::wait(base::ApprovalId id, Answered over) {
  Loop::Hold hold = waiters_.add(id, std::move(over));
  ask_store(
      context_.ledger, context_.loop,
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

// The approval may have been closed by an answer at the terminal, the end of its run, or another daemon.
void Approvals::notify_waiters() {
  const std::vector<base::ApprovalId> ids = waiters_.keys();
  if (ids.empty() || !reading_.begin()) return;
  ask_store(
      context_.ledger, context_.loop,
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
        const bool must_repeat = reading_.end();
        // A failing store is reported to callers when they begin to wait.
        if (!closed) return;
        for (const Approval& approval : *closed) notify(approval);
        if (must_repeat) notify_waiters();
      });
}

void Approvals::begin() {
  check_clock();
  expire_due();
  resume_granted();
  context_.inbox.post(ApplyGranted{});
}

void Approvals::on_outside_answer(const ledger::OutsideResult& result) {
  act(result.step, std::nullopt);
  if (result.approval && result.approval->status != model::ApprovalStatus::pending) notify(*result.approval);
}

void Approvals::on_question_asked(const Approval& approval) {
  if (!approval.expires_at) {
    // Only the id is known here: read its times from the store.
    expire_due();
    return;
  }
  const base::WallTime half = approval.created_at + (*approval.expires_at - approval.created_at) / 2;
  set_timer(due_ ? std::min(*due_, half) : half);
}

void Approvals::set_timer(std::optional<base::WallTime> due) {
  due_ = due;
  timer_ = {};
  if (!due_) return;
  const auto left = std::max(*due_ - context_.clock.wall_now(), base::Milliseconds(0));
  timer_ = context_.loop.at(context_.loop.now() + left, [this] { expire_due(); });
}

void Approvals::expire_due() {
  if (std::exchange(is_reading_due_, true)) return;
  timer_ = {};
  // A clock jump does not count as elapsed time.
  check_clock();
  ask_store(
      context_.ledger, context_.loop,
      [](Transaction& transaction) { return ledger::find_due(transaction, max_at_once); },
      [this](std::expected<ledger::TimeDue, Error> due) {
        is_reading_due_ = false;
        if (!due) {
          context_.log_warning(fmt::format("cannot check for expired approvals: {}", due.error().message()));
          set_timer(context_.clock.wall_now() + poll_pause);
          return;
        }
        for (const base::ApprovalId id : due->overdue) expire(id);
        for (const base::ApprovalId id : due->half) remind(id);
        // The approvals handled now are still due until their transactions commit, so check again a little later.
        const bool has_some = !due->overdue.empty() || !due->half.empty();
        set_timer(has_some ? std::optional(context_.clock.wall_now() + poll_pause) : due->next);
      });
}

// APR-14: an error on one approval is logged and does not affect the others.
void Approvals::expire(base::ApprovalId id) {
  struct Expired {
    std::optional<Approval> approval;
    ledger::StepResult step;
  };
  ask_store(
      context_.ledger, context_.loop,
      [id, &ledger = context_.ledger](Transaction& transaction) {
        Expired expired;
        expired.approval = ledger::expire_approval(transaction, ledger.executions(), ledger.worker(), id, expired.step);
        return expired;
      },
      [this, id](std::expected<Expired, Error> expired) {
        if (!expired) {
          context_.log_warning(fmt::format("cannot expire {}: {}", id.text(), expired.error().message()));
          return;
        }
        act(expired->step, std::nullopt);
        if (expired->approval) notify(*expired->approval);
      });
}

void Approvals::remind(base::ApprovalId id) {
  ask_store(
      context_.ledger, context_.loop, [id](Transaction& transaction) { ledger::remind(transaction, id); },
      [this, id](std::expected<void, Error> told) {
        if (!told)
          context_.log_warning(fmt::format("{}: cannot send a reminder: {}", id.text(), told.error().message()));
      });
}

// DESIGN "Time": a jump of the wall clock must not make an approval expire early.
void Approvals::check_clock() {
  // With a shared store, the store's own clock is used.
  if (context_.lease) return;
  const base::Milliseconds offset = find_clock_offset(context_.clock);
  const bool is_same = clock_offset_ && std::chrono::abs(offset - *clock_offset_) < std::chrono::seconds(1);
  if (is_same) return;
  clock_offset_ = offset;
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host, boot_id = context_.boot_id, offset](Transaction& transaction) {
        return ledger::note_clock(transaction, host, boot_id, offset);
      },
      [this](std::expected<bool, Error> shifted) {
        if (!shifted) {
          clock_offset_.reset();
        } else if (*shifted) {
          expire_due();
        }
      });
}

void Approvals::resume_granted() {
  struct Startable {
    std::vector<ledger::GrantedRun> granted;
    // APR-8: without a grant, after the answers to their tool calls.
    std::vector<base::RunId> released;
  };
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host](Transaction& transaction) -> Startable {
        return {ledger::find_granted(transaction.session(), host, max_granted),
                ledger::find_released(transaction.session(), host, max_granted)};
      },
      [this](const std::expected<Startable, Error>& startable) {
        if (!startable) return;
        for (const ledger::GrantedRun& one : startable->granted) supervisor_.resume(one.run, one.approval);
        for (const base::RunId run : startable->released) supervisor_.resume(run);
      });
}

void Approvals::poll() {
  // This daemon's own commits trigger this as well, so limit the rate.
  const base::BootTime now = context_.loop.now();
  const base::Milliseconds pause = context_.lease ? base::Milliseconds(20) : base::Milliseconds(poll_pause);
  if (now - polled_at_ < pause) {
    context_.ledger.report_next_poll();
    // Another daemon's decision must not wait for the next poll.
    if (context_.lease) next_poll_ = context_.loop.at(polled_at_ + pause, [this] { poll(); });
    return;
  }
  next_poll_ = {};
  polled_at_ = now;
  expire_due();
  resume_granted();
  poll_waiting_runs();
  context_.inbox.post(ApplyGranted{});
  if (context_.lease) {
    notify_waiters();
    supervisor_.poll_ended();
    supervisor_.poll_calls();
  }
}

// Handles this daemon's runs whose question another daemon has closed.
void Approvals::poll_waiting_runs() {
  const std::vector<base::RunId> waiting = supervisor_.find_waiting();
  if (waiting.empty()) return;
  ask_store(
      context_.ledger, context_.loop,
      [waiting](Transaction& transaction) { return ledger::find_answered(transaction, waiting); },
      [this](std::expected<std::vector<ledger::RunConsequence>, Error> answered) {
        if (!answered) return;
        for (const ledger::RunConsequence& consequence : *answered) {
          // The answer may not have been typed yet; the keeper knows.
          supervisor_.follow(consequence, std::nullopt);
          notify(consequence.approval);
        }
      });
}

}  // namespace reeve::runtime
