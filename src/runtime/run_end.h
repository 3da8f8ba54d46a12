#pragma once

#include <optional>
#include <string>

#include "keeper/records.h"
#include "ledger/attempts.h"
#include "ledger/ending.h"
#include "ledger/run_questions.h"
#include "ledger/runs.h"
#include "runtime/run_plan.h"

// What the end of an attempt means for its run, in the transaction that stores it (RUN-6, RUN-13, RUN-17).
namespace reeve::runtime {

using ledger::decode_ending;
using ledger::encode_ending;
using ledger::Ending;

struct AttemptEnd {
  base::RunId run{0};
  ledger::AttemptClaim claim;
  keeper::ExitRecord record;
  // RUN-13: it may have ended while no daemon was there.
  base::Milliseconds ended_ago{0};
  std::optional<Ending> ending;
  bool has_failure_marker = false;
  bool may_ask = true;
  // The answer to its question reached it while it lived.
  bool has_read_answer = false;
  // For `last_error` when nothing better was said (RUN-7).
  std::optional<std::string> last_stderr_line;
};

struct StoredEnd {
  // As it is then; nothing when the attempt is another's by now.
  std::optional<model::Run> run;
  // It was answered before it left: to be started again on this.
  std::optional<base::ApprovalId> granted;
  // What is asked now.
  std::optional<base::ApprovalId> asked;
};
// By the clock that the keeper went by.
base::Milliseconds time_since_end(const keeper::ExitRecord& record, const base::Clock& clock);

StoredEnd store_attempt_end(ledger::Transaction& transaction, const AttemptEnd& end, const ledger::QuestionFrame& frame,
                            const std::string& command, const std::string& cwd);

// RUN-13: begun and lost. By `on_interrupted` the run asks, or has failed; `rerun` is for the caller.
StoredEnd store_interruption(ledger::Transaction& transaction, base::RunId run, const ledger::AttemptClaim& claim,
                             const ledger::QuestionFrame& frame, model::OnInterrupted policy);

// Why a command could not be started, in words, and the code that a shell would give.
struct StartFailure {
  std::string reason;
  int exit_code = 126;
};
StartFailure explain_start_failure(const keeper::ExitRecord& record, const std::string& command,
                                   const std::string& cwd);

}  // namespace reeve::runtime
