#pragma once

#include <optional>
#include <string>

#include "keeper/records.h"
#include "ledger/attempts.h"
#include "ledger/ending.h"
#include "ledger/run_questions.h"
#include "ledger/runs.h"
#include "runtime/runs/run_plan.h"

// Applies the end of an attempt to its run and its tool calls, in the transaction that stores it (RUN-6, RUN-13,
// RUN-17, APR-8).
namespace reeve::runtime {

using ledger::decode_ending;
using ledger::encode_ending;

struct AttemptEnd {
  base::RunId run{0};
  ledger::AttemptClaim claim;
  keeper::ExitRecord record;
  // RUN-13: the attempt may have ended while no daemon was running.
  base::Milliseconds ended_ago{0};
  std::optional<model::RunEnding> ending;
  bool has_failure_marker = false;
  bool may_ask = true;
  // The tool received the answer while it was running.
  bool has_read_answer = false;
  // For `last_error` if there is nothing better (RUN-7).
  std::optional<std::string> last_stderr_line;
};

struct StoredEnd {
  // The resulting run; nothing if another attempt is current by now.
  std::optional<model::Run> run;
  // The question was answered before the tool exited: restart it with this grant.
  std::optional<base::ApprovalId> granted;
  // The newly opened question.
  std::optional<base::ApprovalId> asked;
  // The agent left to wait for its tool calls, and all of them were answered meanwhile: start it again.
  bool is_released = false;
};
// Uses the same clock as the keeper.
base::Milliseconds time_since_end(const keeper::ExitRecord& record, const base::Clock& clock);

StoredEnd store_attempt_end(ledger::Transaction& transaction, const AttemptEnd& end, const ledger::QuestionFrame& frame,
                            const std::string& command, const std::string& cwd);

// AGT-5: a call past the gate outweighs every other reason for the end, except that a run which a person cancelled
// stays cancelled. Does nothing for other reports.
void mark_ungated(ledger::RunMove& move, const model::ReportedOutcome& reported);

// RUN-13: the attempt began and was lost. As `on_interrupted` says, the run asks or fails; `rerun` is left to the
// caller.
struct Interruption {
  Interruption(model::OnInterrupted chosen) : policy(chosen) {}
  Interruption(model::OnInterrupted chosen, std::string why) : policy(chosen), reason(std::move(why)) {}
  model::OnInterrupted policy;
  std::string reason = "interrupted after it began";
};
StoredEnd store_interruption(ledger::Transaction& transaction, base::RunId run, const ledger::AttemptClaim& claim,
                             const ledger::QuestionFrame& frame, const Interruption& interruption);

// Why a command could not be started, and the exit code that a shell would give.
struct StartFailure {
  std::string reason;
  int exit_code = 126;
};
StartFailure explain_start_failure(const keeper::ExitRecord& record, const std::string& command,
                                   const std::string& cwd);

}  // namespace reeve::runtime
