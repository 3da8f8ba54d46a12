#include "runtime/run_end.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/run_exit.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "ledger/questions.h"
#include "os/spawn.h"

namespace reeve::runtime {

namespace {

using ledger::RunMove;
using model::RunStatus;

bool has_pending_question(ledger::Transaction& transaction, base::RunId run) {
  return transaction.session().query(store::Sql::approvals_of_run, {{"run", run.number()}}, [](const store::Row&) {}) >
         0;
}

void ask(ledger::Transaction& transaction, base::RunId run, int attempt, model::Approval approval) {
  approval.tool_run_id = run;
  approval.attempt = attempt;
  ledger::open_question(transaction, {.approval = std::move(approval), .kind = model::ApprovalKind::question});
}

// RUN-17: what lived on after the tool, named.
std::string describe_descendants(const keeper::ExitRecord& record) {
  constexpr std::size_t most_named = 10;
  if (record.descendants.empty()) return {};
  std::vector<std::string> named(
      record.descendants.begin(),
      record.descendants.begin() + static_cast<std::ptrdiff_t>(std::min(most_named, record.descendants.size())));
  if (named.size() < record.descendants.size()) named.emplace_back("…");
  const std::string names = base::visible(base::replace_invalid_utf8(base::join(named, ", ")));
  return fmt::format("left behind and {}: {}", record.is_tree_gone ? "killed" : "not all killed", names);
}

// RUN-12: what the cap has cost.
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
  move.ends_attempt = true;
  if (verdict.status == RunStatus::failed && end.last_stderr_line) move.last_error = end.last_stderr_line;
  return move;
}

// Ended from outside: by the daemon, for the reason that was stored, or by the keeper itself. Nothing when the tool
// ended by itself.
std::optional<RunMove> make_forced_move(const AttemptEnd& end) {
  RunMove move{.exit_code = end.record.code, .signal = end.record.signal, .ends_attempt = true};
  switch (end.record.ended_by) {
    case keeper::EndedBy::itself:
      return std::nullopt;
    case keeper::EndedBy::stop:
      if (!end.ending) return std::nullopt;
      move.to = end.ending->status;
      if (!end.ending->reason.empty()) move.reason = end.ending->reason;
      move.outcome = end.ending->outcome;
      return move;
    case keeper::EndedBy::deadline:
      move.to = RunStatus::failed_timeout;
      move.reason = "timeout";
      return move;
    case keeper::EndedBy::lease:
      move.to = RunStatus::failed;
      move.reason = "its daemon was gone for too long";
      return move;
    case keeper::EndedBy::signal:
      move.to = RunStatus::failed;
      move.reason = "its keeper was told to end";
      return move;
  }
  return std::nullopt;
}

}  // namespace

std::optional<model::Run> store_attempt_end(ledger::Transaction& transaction, const AttemptEnd& end,
                                            const std::string& tool, const std::vector<std::string>& argv,
                                            const std::string& cwd) {
  if (end.record.exec_errno) {
    const StartFailure failure = explain_start_failure(end.record, argv.empty() ? tool : argv.front(), cwd);
    RunMove move{.to = RunStatus::failed, .reason = failure.reason, .exit_code = failure.exit_code};
    move.exec_errno = end.record.exec_errno;
    // HOOK guard: bubblewrap's own words.
    const bool has_words = end.record.exec_stage == keeper::sandbox_stage && end.last_stderr_line;
    if (has_words) move.reason = *move.reason + ": " + *end.last_stderr_line;
    return ledger::move_run(transaction, end.run, move, end.claim);
  }
  if (const auto forced = make_forced_move(end)) return ledger::move_run(transaction, end.run, *forced, end.claim);
  const engine::ExitVerdict verdict =
      engine::classify_exit({.exit_code = end.record.code,
                             .signal = end.record.signal,
                             .has_failure_marker = end.has_failure_marker,
                             .has_pending_question = has_pending_question(transaction, end.run)});
  auto moved = ledger::move_run(transaction, end.run, make_ordinary_move(end, verdict), end.claim);
  if (moved && verdict.question == engine::QuestionFate::generic) {
    ask(transaction, end.run, end.claim.attempt, engine::make_generic_question(tool));
  }
  return moved;
}

std::optional<model::Run> store_interruption(ledger::Transaction& transaction, base::RunId run,
                                             const ledger::AttemptClaim& claim, const std::string& tool,
                                             model::OnInterrupted policy) {
  const bool asks = policy == model::OnInterrupted::ask;
  const RunMove move{.to = asks ? RunStatus::waiting_approval : RunStatus::failed,
                     .reason = "interrupted after it began",
                     .ends_attempt = true};
  auto moved = ledger::move_run(transaction, run, move, claim);
  if (moved && asks) {
    model::Approval approval = engine::make_generic_question(tool);
    approval.question = fmt::format("{} ({}) was interrupted after it began; run it again?", tool, run.text());
    ask(transaction, run, claim.attempt, std::move(approval));
  }
  return moved;
}

StartFailure explain_start_failure(const keeper::ExitRecord& record, const std::string& command,
                                   const std::string& cwd) {
  using Stage = os::SpawnFailure::Stage;
  const int error = record.exec_errno.value_or(0);
  // HOOK guard
  if (record.exec_stage == keeper::sandbox_stage) {
    return {"the tool asks for `sandbox: guard`, but bubblewrap could not start it", 126};
  }
  const std::string words = std::generic_category().message(error);
  const std::string name = base::visible(command);
  const auto stage = static_cast<Stage>(record.exec_stage);
  if (error == ENODATA) return {"its launch file is damaged or gone (a power cut?); start it anew", 126};
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
