#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/loop/store_task.h"
#include "runtime/runs/fingerprint_mismatch.h"
#include "runtime/runs/launch_fingerprint.h"
#include "runtime/runs/run_files.h"
#include "runtime/runs/supervisor.h"
#include "store/approvals.h"

// APR-5, APR-7: continues a run after the answer to its question.
namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using model::Run;

constexpr auto resume_pause = std::chrono::seconds(1);

struct Resumed {
  // Nothing if the run was resumed elsewhere, or the grant is not valid.
  std::optional<int> attempt;
  std::optional<Run> run;
  std::optional<Resumption> resumption;
  // The question asked instead.
  std::optional<base::ApprovalId> asked;
};

}  // namespace

std::vector<base::RunId> Supervisor::find_waiting() const {
  std::vector<base::RunId> waiting;
  for (const auto& [id, live] : runs_) {
    if (live->record().status == model::RunStatus::waiting_approval) waiting.push_back(id);
  }
  return waiting;
}

void Supervisor::follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret) {
  const base::RunId run = consequence.run.tool_run_id;
  if (consequence.kind == ledger::RunConsequence::Kind::start_next) {
    resume(run, consequence.approval.approval_id);
    return;
  }
  if (LiveRun* live = find(run)) {
    live->follow(consequence, secret);
  } else {
    tell_changed(consequence.run);
  }
}

void Supervisor::resume(base::RunId run, base::ApprovalId grant) {
  if (!resuming_.insert(grant).second) return;
  if (context_.refusal) return resume_later(run, grant);
  const std::string folder = run_folder(context_, run);
  auto launch = read_launch(folder);
  if (!launch.plan) {
    // Too many open files, or the disk does not respond.
    if (launch.is_out_of_reach) return resume_later(run, grant);
    // The run belongs to another host, which has its launch file; or the file is gone.
    resuming_.erase(grant);
    fail_resume(run, grant, "its launch file is gone; start a new run");
    return;
  }
  // APR-5: the next attempt gets the same launch, and the standard input belongs to it.
  const auto refusal = launch.plan->has_stdin ? stdin_.find_rerun_refusal(run) : std::nullopt;
  if (refusal) {
    resuming_.erase(grant);
    fail_resume(run, grant, "it cannot be started again: " + *refusal);
    return;
  }
  auto shared = std::make_shared<RunPlan>(std::move(*launch.plan));
  take_keeper([this, run, grant, shared](std::expected<IdleKeeper, Error> keeper) {
    if (!keeper) return resume_later(run, grant);
    resume_with(run, grant, std::move(*shared), std::move(*keeper));
  });
}

void Supervisor::resume_later(base::RunId run, base::ApprovalId grant) {
  after(resume_pause, [this, run, grant] {
    resuming_.erase(grant);
    resume(run, grant);
  });
}

void Supervisor::resume_with(base::RunId run, base::ApprovalId grant, RunPlan plan, IdleKeeper keeper) {
  const std::string folder = run_folder(context_, run);
  const engine::LaunchFingerprint fingerprint = take_fingerprint(plan, folder);
  const auto deadline = deadline_for(plan);
  ledger::AttemptStart start = make_attempt(keeper.identity, deadline);
  start.grant = grant;
  start.digest = engine::digest_of(fingerprint);
  auto kept = std::make_shared<IdleKeeper>(std::move(keeper));
  auto shared = std::make_shared<const RunPlan>(std::move(plan));
  Run subject;
  subject.tool_run_id = run;
  subject.tool_name = shared->tool;
  // The fingerprint was computed above and is saved only if a new question is asked, because replacing a file may wait
  // for the disk.
  ledger::QuestionFrame frame = make_question_frame(context_, subject, *shared, false);
  frame.digest = start.digest;
  const auto begin = [run, grant, start, shared, frame, folder,
                      fingerprint](ledger::Transaction& transaction) -> Resumed {
    const auto row = store::find_run(transaction.session(), run);
    // Cancelled, or already started elsewhere.
    if (!row || row->run.status != model::RunStatus::waiting_approval) return {};
    const ledger::AttemptResult begun = ledger::begin_attempt(transaction, run, start);
    if (begun.void_reason) {
      const auto approval = store::find_approval(transaction.session(), grant);
      const auto approved = approval ? approval->approval.digest : std::nullopt;
      return {.asked = ask_anew(transaction, row->run, frame, {folder, approved, fingerprint})};
    }
    if (!begun.attempt) return {};
    return {.attempt = begun.attempt,
            .run = store::find_run(transaction.session(), run).value().run,
            .resumption = find_resumption(transaction, run, *begun.attempt, shared->profile.resume_args)};
  };
  const auto settle = [folder, fingerprint, nonce = start.nonce](const std::expected<Resumed, Error>& resumed) {
    if (resumed && resumed->attempt) {
      name_attempt(folder, nonce, *resumed->attempt);
    } else if (resumed || !resumed.error().is(ErrorCode::store_unknown_outcome)) {
      drop_draft(folder, nonce);
    }
    if (resumed && resumed->asked) save_fingerprint(folder, engine::digest_of(fingerprint), fingerprint);
  };
  ask_store(
      context_.ledger, context_.loop,
      StoreSteps{
          .before = [folder, nonce = start.nonce] { draft_attempt(folder, nonce); }, .work = begin, .after = settle},
      [this, run, grant, kept, shared, start, deadline](std::expected<Resumed, Error> resumed) {
        // The disk is full or the store unreachable: the grant is unused, so try again.
        if (!resumed) return resume_later(run, grant);
        resuming_.erase(grant);
        if (resumed->asked) context_.inbox.post(QuestionAsked{{.approval_id = *resumed->asked}});
        if (!resumed->attempt) return;
        context_.crash_point("approval.after_use");
        LiveRun& live = add({.record = *resumed->run,
                             .claim = {*resumed->attempt, start.epoch},
                             .nonce = start.nonce,
                             .plan = *shared,
                             .keeper_pid = static_cast<pid_t>(kept->identity.pid),
                             .deadline = deadline,
                             .resumption = std::move(resumed->resumption)});
        live.begin(std::move(kept->link));
        tell_changed(*resumed->run);
        tell_followers(run);
      });
}

void Supervisor::fail_resume(base::RunId run, base::ApprovalId grant, const std::string& reason) {
  ask_store(
      context_.ledger, context_.loop,
      [run, grant, reason, host = context_.host](ledger::Transaction& transaction) -> std::optional<Run> {
        const auto granted = ledger::find_granted(transaction.session(), host, max_granted);
        const bool is_ours = std::ranges::any_of(
            granted, [&](const ledger::GrantedRun& one) { return one.run == run && one.approval == grant; });
        if (!is_ours) return std::nullopt;
        return ledger::move_run(transaction, run, {.to = model::RunStatus::failed, .reason = reason});
      },
      [this](std::expected<std::optional<Run>, Error> failed) {
        if (failed && *failed) tell_changed(**failed);
      });
}

}  // namespace reeve::runtime
