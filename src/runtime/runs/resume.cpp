#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ledger/tool_calls.h"
#include "runtime/loop/store_task.h"
#include "runtime/runs/fingerprint_mismatch.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "store/approvals.h"

// APR-5, APR-7, APR-8: continues a run after the answer to its question, or to the tool calls it was released for.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::Run;

constexpr auto resume_pause = std::chrono::seconds(1);

struct Resumed {
  // Nothing if the run was resumed elsewhere, or may not start: its grant is not valid, or one of its calls waits.
  std::optional<int> attempt;
  std::optional<Run> run;
  std::optional<Resumption> resumption;
  // The question asked instead.
  std::optional<base::ApprovalId> asked;
};

// What the transaction that creates the attempt needs. A released run has no fingerprint: each of its calls is asked
// again, and compared then (APR-10).
struct NextAttempt {
  Continuation next;
  ledger::AttemptStart start;
  std::shared_ptr<const RunPlan> plan;
  std::string folder;
  std::optional<engine::LaunchFingerprint> fingerprint;
  ledger::QuestionFrame frame;
};

Resumed begin_next(ledger::Transaction& transaction, const NextAttempt& attempt) {
  const base::RunId run = attempt.next.run;
  const auto row = store::find_run(transaction.session(), run);
  // Cancelled, or already started elsewhere.
  if (!row || row->run.status != model::RunStatus::waiting_approval) return {};
  const ledger::AttemptResult begun = ledger::begin_attempt(transaction, run, attempt.start);
  if (begun.void_reason && attempt.fingerprint) {
    const auto approval = store::find_approval(transaction.session(), *attempt.next.grant);
    const auto approved = approval ? approval->approval.digest : std::nullopt;
    return {.asked = ask_anew(transaction, row->run, attempt.frame, {attempt.folder, approved, *attempt.fingerprint})};
  }
  if (!begun.attempt) return {};
  return {.attempt = begun.attempt,
          .run = store::find_run(transaction.session(), run).value().run,
          .resumption = find_resumption(transaction, run, *begun.attempt, attempt.plan->profile.resume_args)};
}

// Whether this host has the launch file of a run that may start again.
bool is_ours(store::Session& session, const Continuation& next, const std::string& host) {
  if (!next.grant) {
    const auto released = ledger::find_released(session, host, max_granted);
    return std::ranges::find(released, next.run) != released.end();
  }
  const auto granted = ledger::find_granted(session, host, max_granted);
  return std::ranges::any_of(
      granted, [&](const ledger::GrantedRun& one) { return one.run == next.run && one.approval == *next.grant; });
}

// Afterwards, off the loop: the files of the attempt.
void settle_next(const NextAttempt& attempt, const std::expected<Resumed, Error>& resumed) {
  const std::string& nonce = attempt.start.nonce;
  if (resumed && resumed->attempt) {
    name_attempt(attempt.folder, nonce, *resumed->attempt);
  } else if (resumed || !resumed.error().is(ErrorCode::store_unknown_outcome)) {
    drop_draft(attempt.folder, nonce);
  }
  if (resumed && resumed->asked && attempt.fingerprint) {
    save_fingerprint(attempt.folder, engine::digest_of(*attempt.fingerprint), *attempt.fingerprint);
  }
}

}  // namespace

std::vector<base::RunId> Supervisor::find_waiting() const {
  std::vector<base::RunId> waiting;
  for (const auto& [id, live] : runs_) {
    if (live->record().status == model::RunStatus::waiting_approval) waiting.push_back(id);
  }
  return waiting;
}

void Supervisor::poll_calls() {
  struct Waiting {
    base::RunId run{0};
    ledger::AttemptClaim claim;
    model::RunStatus status = model::RunStatus::waiting_approval;
    std::set<base::ApprovalId> calls = {};
  };
  std::vector<Waiting> asked;
  for (const auto& [id, live] : runs_) {
    if (live->has_waiting_calls()) asked.push_back({.run = id, .claim = live->claim()});
  }
  if (asked.empty()) return;
  ask_store(
      context_.ledger, context_.loop,
      [asked](ledger::Transaction& transaction) {
        std::vector<Waiting> read = asked;
        for (Waiting& one : read) {
          const auto row = store::find_run(transaction.session(), one.run);
          const auto calls = ledger::find_waiting_calls(transaction.session(), one.run, one.claim.attempt);
          if (row) one.status = row->run.status;
          one.calls = {calls.begin(), calls.end()};
        }
        return read;
      },
      [this](const std::expected<std::vector<Waiting>, Error>& read) {
        if (!read) return;
        for (const Waiting& one : *read) {
          LiveRun* live = find(one.run);
          if (live != nullptr && live->claim().attempt == one.claim.attempt) live->on_calls_read(one.calls, one.status);
        }
      });
}

void Supervisor::follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret) {
  using Kind = ledger::RunConsequence::Kind;
  const base::RunId run = consequence.run.tool_run_id;
  if (consequence.kind == Kind::start_next) return resume(run, consequence.approval.approval_id);
  if (consequence.kind == Kind::resume_released) return resume(run);
  if (LiveRun* live = find(run)) {
    live->follow(consequence, secret);
  } else {
    tell_changed(consequence.run);
  }
}

void Supervisor::start_next(const Continuation& next) {
  if (!resuming_.insert(next).second) return;
  if (context_.refusal) return start_next_later(next);
  const std::string folder = run_folder(context_, next.run);
  auto launch = read_launch(folder);
  if (!launch.plan) {
    // Too many open files, or the disk does not respond.
    if (launch.is_out_of_reach) return start_next_later(next);
    // The run belongs to another host, which has its launch file; or the file is gone.
    resuming_.erase(next);
    fail_next(next, "its launch file is gone; start a new run");
    return;
  }
  // APR-5: the next attempt gets the same launch, and the standard input belongs to it.
  const auto refusal = launch.plan->has_stdin ? stdin_.find_rerun_refusal(next.run) : std::nullopt;
  if (refusal) {
    resuming_.erase(next);
    fail_next(next, "it cannot be started again: " + *refusal);
    return;
  }
  auto shared = std::make_shared<RunPlan>(std::move(*launch.plan));
  take_keeper([this, next, shared](std::expected<IdleKeeper, Error> keeper) {
    if (!keeper) return start_next_later(next);
    start_next_with(next, std::move(*shared), std::move(*keeper));
  });
}

void Supervisor::start_next_later(const Continuation& next) {
  after(resume_pause, [this, next] {
    resuming_.erase(next);
    start_next(next);
  });
}

void Supervisor::start_next_with(const Continuation& next, RunPlan plan, IdleKeeper keeper) {
  const base::RunId run = next.run;
  const auto deadline = deadline_for(plan);
  auto attempt = std::make_shared<NextAttempt>(NextAttempt{.next = next,
                                                           .start = make_attempt(keeper.identity, deadline),
                                                           .plan = std::make_shared<const RunPlan>(std::move(plan)),
                                                           .folder = run_folder(context_, run),
                                                           .fingerprint = {},
                                                           .frame = {}});
  attempt->start.resumes_released = !next.grant;
  if (next.grant) {
    attempt->fingerprint = take_fingerprint(*attempt->plan, attempt->folder);
    attempt->start.grant = next.grant;
    attempt->start.digest = engine::digest_of(*attempt->fingerprint);
    Run subject;
    subject.tool_run_id = run;
    subject.tool_name = attempt->plan->tool;
    // The fingerprint is saved only if a new question is asked, because replacing a file may wait for the disk.
    attempt->frame = make_question_frame(context_, subject, *attempt->plan, false);
    attempt->frame.digest = attempt->start.digest;
  }
  auto kept = std::make_shared<IdleKeeper>(std::move(keeper));
  ask_store(
      context_.ledger, context_.loop,
      StoreSteps{.before = [attempt] { draft_attempt(attempt->folder, attempt->start.nonce); },
                 .work = [attempt](ledger::Transaction& transaction) { return begin_next(transaction, *attempt); },
                 .after = [attempt](const std::expected<Resumed, Error>& resumed) { settle_next(*attempt, resumed); }},
      [this, run, kept, attempt, deadline](std::expected<Resumed, Error> resumed) {
        // The disk is full or the store unreachable: nothing was used, so try again.
        if (!resumed) return start_next_later(attempt->next);
        resuming_.erase(attempt->next);
        if (resumed->asked) context_.inbox.post(QuestionAsked{{.approval_id = *resumed->asked}});
        if (!resumed->attempt) return;
        context_.crash_point("approval.after_use");
        LiveRun& live = add({.record = *resumed->run,
                             .claim = {*resumed->attempt, attempt->start.epoch},
                             .nonce = attempt->start.nonce,
                             .plan = *attempt->plan,
                             .keeper_pid = static_cast<pid_t>(kept->identity.pid),
                             .deadline = deadline,
                             .resumption = std::move(resumed->resumption)});
        live.begin(std::move(kept->link));
        tell_changed(*resumed->run);
        tell_followers(run);
      });
}

void Supervisor::fail_next(const Continuation& next, const std::string& reason) {
  ask_store(
      context_.ledger, context_.loop,
      [next, reason, host = context_.host](ledger::Transaction& transaction) -> std::optional<Run> {
        if (!is_ours(transaction.session(), next, host)) return std::nullopt;
        return ledger::move_run(transaction, next.run, {.to = model::RunStatus::failed, .reason = reason});
      },
      [this](std::expected<std::optional<Run>, Error> failed) {
        if (failed && *failed) tell_changed(**failed);
      });
}

}  // namespace reeve::runtime
