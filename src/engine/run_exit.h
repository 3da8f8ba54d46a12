#pragma once

#include <optional>
#include <string>

#include "model/approval.h"
#include "model/reported_outcome.h"
#include "model/run.h"

// What the end of a process means for its run (RUN-6).
namespace reeve::engine {

// The observed end of a process.
struct ProcessEnd {
  // Exactly one of the two.
  std::optional<int> exit_code;
  std::optional<int> signal;
  // An `error` event with `fatal`, or a line that matches `failure_markers`.
  bool has_failure_marker = false;
  // A question of this attempt is unanswered.
  bool has_pending_question = false;
  // The decision, made while the process lived, on a question that is answered by a restart; nothing if there was no
  // such question or its answer was already used.
  std::optional<model::ApprovalStatus> answer = {};
  // Tool calls of this attempt that wait for a person, or whose answer the agent has not taken.
  int deferred_calls = 0;
  // False for a gate, which never asks (GRF-6): exit code 90 has no special meaning there.
  bool may_ask = true;
  // What the attempt said about its end.
  std::optional<model::ReportedOutcome> reported = {};
};

// What becomes of the attempt's question.
enum class QuestionFate {
  none,
  // It keeps waiting for its answer.
  stays,
  // The tool asked by its exit code alone: a generic question is created (RUN-6).
  generic,
  // It was approved before the tool exited: the tool is restarted with the grant.
  granted,
  // It was not approved before the tool exited.
  denied,
  // The answer is no longer needed.
  expires,
};

struct ExitVerdict {
  model::RunStatus status = model::RunStatus::failed;
  // Empty for `completed`, `waiting_approval` and `queued`, and if the answer itself is the reason (`denied`).
  std::string reason;
  std::optional<model::Outcome> outcome;
  QuestionFate question = QuestionFate::none;
};

// The exit code by which a tool says that it waits for an approval.
inline constexpr int approval_exit_code = 90;

// What an attempt reported about its end counts there (RUN-18): a call past the gate, and an agent that is not logged
// in, fail the run whatever its exit code. After a usage limit it goes back to the queue, unless it waits for a person
// or was refused by one. `denied` changes only the outcome.
ExitVerdict classify_exit(const ProcessEnd& end);
// Of two reports of an attempt, whether the first is kept: `ungated` before all others, then `not_logged_in`, `limited`
// and `denied`. Of equal ones, the newer is kept.
bool outweighs(model::Outcome first, model::Outcome second) noexcept;
// Whether its open calls, if it has any, stay for the next attempt: the agent has released its process to wait for them
// (APR-8). Otherwise they are withdrawn.
bool releases_calls(const ProcessEnd& end);

// "TOOL asks to continue": approve or reject, reject preselected.
model::Approval make_generic_question(const std::string& tool_name);

}  // namespace reeve::engine
