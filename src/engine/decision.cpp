#include "engine/decision.h"

#include <algorithm>

namespace reeve::engine {

namespace {

using model::ApprovalOption;
using model::ApprovalStatus;

const ApprovalOption* find_option(const model::Approval& approval, const std::string& value) {
  const auto found = std::ranges::find(approval.options, value, &ApprovalOption::value);
  return found != approval.options.end() ? &*found : nullptr;
}

Decided decided(const ApprovalOption& option) {
  return {approves(option) ? ApprovalStatus::approved : ApprovalStatus::rejected, option.value};
}

}  // namespace

std::variant<Decided, Refusal> decide(const model::Approval& approval, const Answer& answer, base::WallTime now) {
  if (approval.status != ApprovalStatus::pending) return Refusal::already_resolved;
  if (is_overdue(approval, now)) return Refusal::expired;
  if (answer.choice) {
    const ApprovalOption* option = find_option(approval, *answer.choice);
    if (option == nullptr) return Refusal::unknown_choice;
    const bool wants_yes = answer.word == Answer::Word::approve;
    if (answer.word != Answer::Word::choose && approves(*option) != wants_yes) return Refusal::contradiction;
    return decided(*option);
  }
  if (answer.word == Answer::Word::choose) return Refusal::choice_needed;
  if (answer.word == Answer::Word::reject) {
    const auto option = std::ranges::find_if_not(approval.options, model::approves);
    return option != approval.options.end() ? decided(*option) : Decided{ApprovalStatus::rejected, std::nullopt};
  }
  // An approval is never guessed: `approve` alone suffices only if exactly one option approves.
  if (std::ranges::count_if(approval.options, model::approves) != 1) return Refusal::choice_needed;
  return decided(*std::ranges::find_if(approval.options, model::approves));
}

bool is_overdue(const model::Approval& approval, base::WallTime now) {
  return approval.status == ApprovalStatus::pending && approval.expires_at && *approval.expires_at <= now;
}

std::variant<Used, Voided, GrantRefusal> use(const model::Approval& approval, const Usage& usage) {
  const bool is_theirs = approval.tool_run_id == usage.run && approval.node_id == usage.node_id;
  if (approval.status != ApprovalStatus::approved || !is_theirs) return GrantRefusal::not_granted;
  if (approval.use != model::ApprovalUse::unused) return GrantRefusal::already_used;
  if (approval.digest != usage.digest) return Voided{"the launch no longer matches what was approved"};
  if (approval.attempt != usage.attempt) return Voided{"the approval was given for another attempt"};
  return Used{};
}

}  // namespace reeve::engine
