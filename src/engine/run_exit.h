#pragma once

#include <optional>
#include <string>

#include "model/approval.h"
#include "model/run.h"

// What the end of a process means for its run (RUN-6).
namespace reeve::engine {

// What was seen of the process and its output when it ended.
struct ProcessEnd {
  // Exactly one of the two.
  std::optional<int> exit_code;
  std::optional<int> signal;
  // An `error` event with `fatal`, or a line that matches `failure_markers`.
  bool has_failure_marker = false;
  // A question of this attempt that nobody has answered yet.
  bool has_pending_question = false;
  // What was decided, while the process lived, about a question whose answer it is started again for; nothing when that
  // was not asked, or the answer was used before.
  std::optional<model::ApprovalStatus> answer = {};
  // False of a gate, which never asks (GRF-6): its 90 is a code like any other.
  bool may_ask = true;
};

// What happens to the question of the attempt.
enum class QuestionFate {
  none,
  // It waits for its answer.
  stays,
  // The tool asked by its exit code alone: the generic question is made (RUN-6).
  generic,
  // It was answered before the tool left: it is started again on it.
  granted,
  // It was answered before the tool left, and that was no yes.
  denied,
  // Nobody needs the answer any more.
  expires,
};

struct ExitVerdict {
  model::RunStatus status = model::RunStatus::failed;
  // Empty for `completed` and `waiting_approval`, and where the answer itself is the reason (`denied`).
  std::string reason;
  std::optional<model::Outcome> outcome;
  QuestionFate question = QuestionFate::none;
};

// The code with which a tool says that it waits for an approval.
inline constexpr int approval_exit_code = 90;

ExitVerdict classify_exit(const ProcessEnd& end);

// «TOOL asks to go on»: approve or reject, reject preselected.
model::Approval make_generic_question(const std::string& tool_name);

}  // namespace reeve::engine
