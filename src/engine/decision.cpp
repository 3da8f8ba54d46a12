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

// The decision without regard to text.
std::variant<Decided, Refusal> choose(const model::Approval& approval, const Answer& answer,
                                      const std::optional<std::string>& choice) {
  if (choice) {
    const ApprovalOption* option = find_option(approval, *choice);
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

}  // namespace

std::variant<Decided, Refusal> decide(const model::Approval& approval, const Answer& answer, base::WallTime now) {
  if (approval.status != ApprovalStatus::pending) return Refusal::already_resolved;
  if (is_overdue(approval, now)) return Refusal::expired;
  const bool takes_text = model::takes_text(approval);
  if (answer.text && (!takes_text || answer.word == Answer::Word::reject)) return Refusal::takes_no_text;
  const auto choice = answer.text && !answer.choice ? std::optional(std::string(model::text_option)) : answer.choice;
  auto result = choose(approval, answer, choice);
  const auto* chosen = std::get_if<Decided>(&result);
  const bool is_text = takes_text && chosen != nullptr && chosen->chosen_value == model::text_option;
  // Nothing is typed by accident: not a comment, and not an empty line (RUN-10).
  if (is_text && !answer.text) return Refusal::text_needed;
  if (chosen != nullptr && answer.text && !is_text) return Refusal::takes_no_text;
  return result;
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
