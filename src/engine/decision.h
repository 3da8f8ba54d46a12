#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "model/approval.h"

// The effect of an answer on an approval (APR-2, APR-3), and of time (APR-4). Pure: the caller must write the result
// together with the status it was decided on, so that only the first of two answers is stored.
namespace reeve::engine {

// An answer to an approval.
struct Answer {
  enum class Word { approve, reject, choose };
  Word word = Word::choose;
  // One of the options' values; required for `choose`, optional otherwise.
  std::optional<std::string> choice;
  std::optional<std::string> comment;
  // From the credential (APR-12).
  std::string decided_by;
  // The line to type into the tool; empty text is an empty line. It chooses model::text_option.
  std::optional<std::string> text = {};
  // The decider's name from the request; recorded only in the audit trail.
  std::optional<std::string> note = {};
};

struct Decided {
  model::ApprovalStatus status = model::ApprovalStatus::rejected;
  // Empty when a question without a rejecting option is rejected.
  std::optional<std::string> chosen_value;
};

enum class Refusal {
  // Already decided or expired: the first answer wins, and the record names it.
  already_resolved,
  // Past its expiry, although the expiry is not stored yet.
  expired,
  // The choice is not one of the options.
  unknown_choice,
  // `approve` without a choice, and the number of approving options is not one.
  choice_needed,
  // `approve` with a rejecting choice, or the reverse.
  contradiction,
  // The option is answered with text, and there is none.
  text_needed,
  // Text for a question or an option that takes none.
  takes_no_text,
};

// Option values must be unique (model::unique_options).
std::variant<Decided, Refusal> decide(const model::Approval& approval, const Answer& answer, base::WallTime now);

// APR-4: whether a pending approval has reached its expiry.
bool is_overdue(const model::Approval& approval, base::WallTime now);

// The action that is about to use a grant.
struct Usage {
  // The run or the node that would resume.
  std::optional<base::RunId> run = {};
  std::optional<std::string> node_id = {};
  int attempt = 1;
  // Computed again from what would run now.
  std::optional<std::string> digest = {};
};

struct Used {};
// The action must not run and the grant is void: the question must be asked again.
struct Voided {
  std::string reason;
};

enum class GrantRefusal {
  // Pending, rejected or expired, or granted to another run or node.
  not_granted,
  // Already used, or void.
  already_used,
};

// APR-7, APR-10: a grant is used once, for the attempt it was given for, and only for what was approved.
std::variant<Used, Voided, GrantRefusal> use(const model::Approval& approval, const Usage& usage);

}  // namespace reeve::engine
