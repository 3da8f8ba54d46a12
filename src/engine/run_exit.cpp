#include "engine/run_exit.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::engine {

namespace {

std::string failure_reason(const ProcessEnd& end) {
  if (end.signal) return fmt::format("signal {}", *end.signal);
  if (*end.exit_code != 0) return fmt::format("exit_code != 0 ({})", *end.exit_code);
  return "failure marker";
}

ExitVerdict classify_process(const ProcessEnd& end) {
  REEVE_ASSERT(end.exit_code.has_value() != end.signal.has_value());
  // A tool asks by exiting with 90, or with 0 while its question is open: both mean that it wants to be restarted with
  // the answer.
  const bool leaves_with_one = end.exit_code == approval_exit_code || (end.exit_code == 0 && end.has_pending_question);
  const bool asks = end.may_ask && leaves_with_one;
  // An answer may arrive before the exit: exiting with 90 or 0 still means waiting for it.
  const bool leaves = end.exit_code == approval_exit_code || end.exit_code == 0;
  if (leaves && !end.has_failure_marker && !end.has_pending_question && end.answer) {
    const bool is_granted = end.answer == model::ApprovalStatus::approved;
    if (is_granted) return {model::RunStatus::waiting_approval, {}, model::Outcome::asked, QuestionFate::granted};
    // An expired question was not rejected.
    const bool is_denied = end.answer == model::ApprovalStatus::rejected;
    const auto outcome = is_denied ? model::Outcome::denied : model::Outcome::asked;
    return {model::RunStatus::failed, {}, outcome, QuestionFate::denied};
  }
  if (asks && !end.has_failure_marker) {
    // An agent that waits for its calls has not asked anything else.
    const bool waits_for_calls = end.exit_code == approval_exit_code && end.deferred_calls > 0;
    const QuestionFate without = waits_for_calls ? QuestionFate::none : QuestionFate::generic;
    return {model::RunStatus::waiting_approval,
            {},
            model::Outcome::asked,
            end.has_pending_question ? QuestionFate::stays : without};
  }
  if (end.exit_code == 0 && !end.has_failure_marker) {
    return {model::RunStatus::completed, {}, std::nullopt, QuestionFate::none};
  }
  return {model::RunStatus::failed, failure_reason(end), std::nullopt,
          end.has_pending_question ? QuestionFate::expires : QuestionFate::none};
}

int weight_of(model::Outcome outcome) noexcept {
  switch (outcome) {
    case model::Outcome::ungated:
      return 3;
    case model::Outcome::not_logged_in:
      return 2;
    case model::Outcome::limited:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

ExitVerdict classify_exit(const ProcessEnd& end) {
  ExitVerdict verdict = classify_process(end);
  if (!end.reported) return verdict;
  const model::ReportedOutcome& reported = *end.reported;
  // A question that the tool did not ask itself can be left out.
  const bool waits = verdict.status == model::RunStatus::waiting_approval && verdict.question != QuestionFate::generic;
  const bool is_refused = verdict.question == QuestionFate::denied;
  const QuestionFate question = end.has_pending_question ? QuestionFate::expires : QuestionFate::none;
  switch (reported.outcome) {
    case model::Outcome::ungated:
    case model::Outcome::not_logged_in:
      return {model::RunStatus::failed, reported.reason, reported.outcome, question};
    case model::Outcome::limited:
      if (waits || is_refused) return verdict;
      return {model::RunStatus::queued, {}, reported.outcome, question};
    default:
      if (is_final(verdict.status) && !verdict.outcome) verdict.outcome = reported.outcome;
      return verdict;
  }
}

bool outweighs(model::Outcome first, model::Outcome second) noexcept { return weight_of(first) > weight_of(second); }

bool releases_calls(const ProcessEnd& end) {
  return end.exit_code == approval_exit_code && end.may_ask &&
         classify_exit(end).status == model::RunStatus::waiting_approval;
}

model::Approval make_generic_question(const std::string& tool_name) {
  model::Approval approval;
  approval.tool_name = tool_name;
  approval.question = fmt::format("{} asks to continue", tool_name);
  approval.options = model::default_options();
  approval.default_value = "reject";
  return approval;
}

}  // namespace reeve::engine
