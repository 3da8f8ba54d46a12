#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "model/approval.h"

// What a person's answer does to an approval (APR-2, APR-3), and what time does to it (APR-4). Pure: who asks must
// write the result with the status it was made from, so that of two only the first is stored.
namespace reeve::engine {

// What somebody said.
struct Answer {
  enum class Word { approve, reject, choose };
  Word word = Word::choose;
  // One of the options' values; needed for `choose`, may stand with the others.
  std::optional<std::string> choice;
  std::optional<std::string> comment;
  // From the credential (APR-12).
  std::string decided_by;
  // Who decided as the request says; goes to the audit trail alone.
  std::optional<std::string> note = {};
};

struct Decided {
  model::ApprovalStatus status = model::ApprovalStatus::rejected;
  // Nothing when a question without a rejecting option is rejected.
  std::optional<std::string> chosen_value;
};

enum class Refusal {
  // Decided or expired before: the first wins, and the record says who it was.
  already_resolved,
  // Past its expiry, though nobody has written that yet.
  expired,
  // The choice is none of the options.
  unknown_choice,
  // `approve` without a choice, and several options approve, or none.
  choice_needed,
  // `approve` with a choice that rejects, or the other way round.
  contradiction,
};

// The values of the options must be unique (model::unique_options).
std::variant<Decided, Refusal> decide(const model::Approval& approval, const Answer& answer, base::WallTime now);

// APR-4: whether its time is over. Never before, and never for one that has been decided.
bool is_overdue(const model::Approval& approval, base::WallTime now);

// What is about to happen on a grant.
struct Usage {
  // Whose it is: the run or the node that would go on.
  std::optional<base::RunId> run = {};
  std::optional<std::string> node_id = {};
  int attempt = 1;
  // Computed anew from what would run.
  std::optional<std::string> digest = {};
};

struct Used {};
// It may not run, and the grant is gone: somebody must be asked again.
struct Voided {
  std::string reason;
};

enum class GrantRefusal {
  // Pending, rejected or expired, or granted to another run or node.
  not_granted,
  // Used before, or void.
  already_used,
};

// APR-7, APR-10: a grant is used once, for the attempt it was given for, and only for what was approved.
std::variant<Used, Voided, GrantRefusal> use(const model::Approval& approval, const Usage& usage);

}  // namespace reeve::engine
