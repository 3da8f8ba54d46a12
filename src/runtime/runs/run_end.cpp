#include "runtime/runs/run_end.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/run_exit.h"
#include "engine/usage_limit.h"
#include "ledger/tool_calls.h"
#include "os/spawn.h"
#include "store/agent_sessions.h"

namespace reeve::runtime {

namespace {

using ledger::RunMove;
using model::RunStatus;

// The ending attempt's last question, as far as it affects the end. A terminal prompt needs no answer once the tool has
// exited.
struct AskedBefore {
  bool is_pending = false;
  std::optional<model::Approval> answered;
};

AskedBefore find_asked(ledger::Transaction& transaction, const AttemptEnd& end) {
  AskedBefore asked;
  auto row = ledger::find_question_of(transaction.session(), end.run, end.claim.attempt);
  if (!row) return asked;
  // A plain SQL update counts only after it was validated.
  asked.is_pending = row->approval.status == model::ApprovalStatus::pending || !row->is_settled;
  const bool is_open = !asked.is_pending && row->approval.use == model::ApprovalUse::unused;
  const bool is_wanted = is_open && row->approval.delivery == model::Delivery::rerun && !end.has_read_answer;
  if (is_wanted) asked.answered = std::move(row->approval);
  return asked;
}

void withdraw_prompts(ledger::Transaction& transaction, base::RunId run) {
  for (const model::Approval& approval :
       ledger::find_approvals_of(transaction.session(), run, 1, model::ApprovalKind::question)) {
    const bool is_prompt =
        approval.status == model::ApprovalStatus::pending && approval.delivery == model::Delivery::terminal;
    if (is_prompt) ledger::withdraw_question(transaction, approval.approval_id, "the tool left its prompt");
  }
}

// RUN-17: names the processes that outlived the tool.
std::string describe_descendants(const keeper::ExitRecord& record) {
  constexpr std::size_t max_named = 10;
  if (record.descendants.empty()) return {};
  std::vector<std::string> named(
      record.descendants.begin(),
      record.descendants.begin() + static_cast<std::ptrdiff_t>(std::min(max_named, record.descendants.size())));
  if (named.size() < record.descendants.size()) named.emplace_back("…");
  const std::string names = base::visible(base::replace_invalid_utf8(base::join(named, ", ")));
  return fmt::format("left behind and {}: {}", record.is_tree_gone ? "killed" : "not all killed", names);
}

// RUN-12: describes the output dropped because of the cap.
std::string describe_gap(const keeper::ExitRecord& record) {
  if (record.output_begin == 0) return {};
  return fmt::format("the first {} bytes of its output were dropped (output_cap)", record.output_begin);
}

RunMove make_ordinary_move(const AttemptEnd& end, const engine::ExitVerdict& verdict) {
  RunMove move{.to = verdict.status, .outcome = verdict.outcome};
  if (!verdict.reason.empty()) move.reason = verdict.reason;
  for (const std::string& note : {describe_descendants(end.record), describe_gap(end.record)}) {
    if (!note.empty()) move.reason = move.reason ? *move.reason + "; " + note : note;
  }
  move.exit_code = end.record.code;
  move.signal = end.record.signal;
  move.ended_ago = end.ended_ago;
  move.ends_attempt = true;
  if (verdict.status == RunStatus::failed && end.last_stderr_line) move.last_error = end.last_stderr_line;
  return move;
}

// The move for a tool that was ended externally: by the daemon, for the stored reason, or by its keeper. Nothing if the
// tool exited on its own.
std::optional<RunMove> make_forced_move(const AttemptEnd& end, const std::optional<model::ReportedOutcome>& reported) {
  RunMove move{
      .exit_code = end.record.code, .signal = end.record.signal, .ended_ago = end.ended_ago, .ends_attempt = true};
  switch (end.record.ended_by) {
    case keeper::EndedBy::itself:
      return std::nullopt;
    case keeper::EndedBy::stop:
    // If it was being ended anyway; otherwise it was interrupted (RUN-13).
    case keeper::EndedBy::lease:
      if (!end.ending) return std::nullopt;
      move.to = end.ending->status;
      if (!end.ending->reason.empty()) move.reason = end.ending->reason;
      move.outcome = end.ending->outcome;
      break;
    case keeper::EndedBy::deadline:
      move.to = RunStatus::failed_timeout;
      move.reason = "timeout";
      break;
    case keeper::EndedBy::signal:
      move.to = RunStatus::failed;
      move.reason = "its keeper was terminated by a signal";
      break;
  }
  if (reported) mark_ungated(move, *reported);
  return move;
}

std::string find_agent(store::Session& session, const model::Run& run) {
  const auto last = store::find_last_session(session, run.tool_run_id);
  return base::visible(last ? last->agent : run.tool_name);
}

// RUN-18: the attempt is over and its run waits for the end of a usage limit.
std::optional<model::Run> store_limit(ledger::Transaction& transaction, const model::Run& run,
                                      const ledger::AttemptClaim& claim, const model::ReportedOutcome& reported,
                                      RunMove move) {
  const engine::UsageLimit limit{.resets_at = reported.resets_at,
                                 .in_row = ledger::count_limited(transaction.session(), run.tool_run_id)};
  move.to = RunStatus::queued;
  move.outcome = model::Outcome::limited;
  move.not_before = engine::find_continuation(limit, transaction.now());
  move.reason = engine::describe_limit(find_agent(transaction.session(), run), *move.not_before, reported.reason);
  // RUN-2: only a running run goes back to the queue.
  if (run.status != RunStatus::running) {
    ledger::move_run(transaction, run.tool_run_id, {.to = RunStatus::running}, claim);
  }
  return ledger::move_run(transaction, run.tool_run_id, move, claim);
}

}  // namespace

void mark_ungated(ledger::RunMove& move, const model::ReportedOutcome& reported) {
  if (reported.outcome != model::Outcome::ungated) return;
  // A person's decision stays visible.
  if (move.to == RunStatus::cancelled) {
    move.reason = move.reason ? fmt::format("{}; {}", *move.reason, reported.reason) : reported.reason;
  } else {
    move.to = RunStatus::failed;
    move.reason = reported.reason;
  }
  move.outcome = model::Outcome::ungated;
}

base::Milliseconds time_since_end(const keeper::ExitRecord& record, const base::Clock& clock) {
  if (record.unix_ns <= 0) return base::Milliseconds(0);
  const auto now = std::chrono::nanoseconds(clock.wall_now().time_since_epoch());
  const auto ago = now - std::chrono::nanoseconds(record.unix_ns);
  return std::max(std::chrono::duration_cast<base::Milliseconds>(ago), base::Milliseconds(0));
}

StoredEnd store_attempt_end(ledger::Transaction& transaction, const AttemptEnd& end, const ledger::QuestionFrame& frame,
                            const std::string& command, const std::string& cwd) {
  if (end.record.exec_errno) {
    const StartFailure failure = explain_start_failure(end.record, command, cwd);
    RunMove move{.to = RunStatus::failed, .reason = failure.reason, .exit_code = failure.exit_code};
    move.exec_errno = end.record.exec_errno;
    move.ended_ago = end.ended_ago;
    // Adds bubblewrap's own message.
    const bool has_words = end.record.exec_stage == keeper::sandbox_stage && end.last_stderr_line;
    if (has_words) move.reason = *move.reason + ": " + *end.last_stderr_line;
    return {.run = ledger::move_run(transaction, end.run, move, end.claim)};
  }
  const model::Run run = ledger::lock_run(transaction, end.run).run;
  if (!ledger::is_current(transaction, run, end.claim)) return {};
  const auto reported = ledger::find_outcome(transaction.session(), end.run, end.claim.attempt);
  if (const auto forced = make_forced_move(end, reported)) {
    return {.run = ledger::move_run(transaction, end.run, *forced, end.claim)};
  }
  withdraw_prompts(transaction, end.run);
  const AskedBefore asked = find_asked(transaction, end);
  engine::ProcessEnd process{.exit_code = end.record.code,
                             .signal = end.record.signal,
                             .has_failure_marker = end.has_failure_marker,
                             .has_pending_question = asked.is_pending,
                             .may_ask = end.may_ask,
                             .reported = reported};
  if (asked.answered) process.answer = asked.answered->status;
  const bool releases = engine::releases_calls(process);
  const ledger::CallsLeft calls = ledger::leave_calls(transaction, run, end.claim.attempt, releases);
  if (releases) process.deferred_calls = calls.waiting + calls.answered;
  const engine::ExitVerdict verdict = engine::classify_exit(process);
  RunMove move = make_ordinary_move(end, verdict);
  if (verdict.question == engine::QuestionFate::denied) move.reason = ledger::describe_denial(*asked.answered);
  if (verdict.status == RunStatus::queued) {
    return {.run = store_limit(transaction, run, end.claim, *reported, std::move(move))};
  }
  StoredEnd stored{.run = ledger::move_run(transaction, end.run, move, end.claim)};
  if (!stored.run) return stored;
  if (verdict.question == engine::QuestionFate::generic) {
    stored.asked =
        ledger::ask_after_end(transaction, *stored.run,
                              ledger::frame_question(transaction, frame, engine::make_generic_question(frame.tool)));
  }
  if (verdict.question == engine::QuestionFate::granted) stored.granted = asked.answered->approval_id;
  // A question that is open or granted decides when it starts again.
  const bool waits_for_calls = process.deferred_calls > 0 && verdict.question == engine::QuestionFate::none;
  stored.is_released = waits_for_calls && calls.waiting == 0;
  return stored;
}

StoredEnd store_interruption(ledger::Transaction& transaction, base::RunId run, const ledger::AttemptClaim& claim,
                             const ledger::QuestionFrame& frame, const Interruption& interruption) {
  const model::Run lost = ledger::lock_run(transaction, run).run;
  if (!ledger::is_current(transaction, lost, claim)) return {};
  withdraw_prompts(transaction, run);
  ledger::leave_calls(transaction, lost, claim.attempt, false);
  // What it said about its end counts also if the end itself was not seen.
  const auto reported = ledger::find_outcome(transaction.session(), run, claim.attempt);
  const bool is_ungated = reported && reported->outcome == model::Outcome::ungated;
  const bool is_limited = reported && reported->outcome == model::Outcome::limited;
  if (is_ungated) {
    RunMove move{.to = RunStatus::failed, .ends_attempt = true};
    mark_ungated(move, *reported);
    return {.run = ledger::move_run(transaction, run, move, claim)};
  }
  const auto before = ledger::find_question_of(transaction.session(), run, claim.attempt);
  // An earlier question goes first: approving it restarts the run.
  const bool has_asked = before && (before->approval.status == model::ApprovalStatus::pending || !before->is_settled);
  if (is_limited && !has_asked && interruption.policy != model::OnInterrupted::fail) {
    return {.run = store_limit(transaction, lost, claim, *reported, {.ends_attempt = true})};
  }
  const bool asks = has_asked || interruption.policy == model::OnInterrupted::ask;
  const RunMove move{.to = asks ? RunStatus::waiting_approval : RunStatus::failed,
                     .reason = interruption.reason,
                     .ends_attempt = true};
  StoredEnd stored{.run = ledger::move_run(transaction, run, move, claim)};
  if (!stored.run || !asks || has_asked) return stored;
  // Earlier grants do not answer this question.
  ledger::void_grants(transaction, run, "the run was interrupted");
  model::Approval approval = engine::make_generic_question(frame.tool);
  approval.question = fmt::format("{} ({}) was interrupted after it began; run it again?", frame.tool, run.text());
  stored.asked =
      ledger::ask_after_end(transaction, *stored.run, ledger::frame_question(transaction, frame, std::move(approval)));
  return stored;
}

StartFailure explain_start_failure(const keeper::ExitRecord& record, const std::string& command,
                                   const std::string& cwd) {
  using Stage = os::SpawnFailure::Stage;
  const int error = record.exec_errno.value_or(0);
  if (record.exec_stage == keeper::sandbox_stage) {
    return {"the tool asks for `sandbox: guard`, but bubblewrap could not start it", 126};
  }
  const std::string words = std::generic_category().message(error);
  const std::string name = base::visible(command);
  const auto stage = static_cast<Stage>(record.exec_stage);
  if (error == ENODATA) return {"its launch file is damaged or gone (power loss?); start a new run", 126};
  if (stage == Stage::folder && error == ESTALE) {
    return {
        fmt::format("the working folder {} is not the one that was decided about: it was replaced", base::visible(cwd)),
        126};
  }
  if (stage == Stage::folder) {
    return {fmt::format("cannot start in the working folder {}: {}", base::visible(cwd), words), 126};
  }
  if (stage == Stage::lookup && error == ENOENT) {
    return {fmt::format("command not found: {}", name), 127};
  }
  if (error == EACCES) return {fmt::format("not executable: {}: {}", name, words), 126};
  if (error == E2BIG) return {fmt::format("cannot start {}: {}", name, words), 126};
  if (error == ENOEXEC) return {fmt::format("no program: {}: {}", name, words), 126};
  if (error == ENOENT) return {fmt::format("the interpreter in the #! line of {} does not exist", name), 126};
  return {fmt::format("cannot start {}: {}", name, words), 126};
}

}  // namespace reeve::runtime
