#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ledger/unit.h"
#include "model/approval.h"

// Questions that callers of the API ask outside of any run. Nothing in Reeve waits for the answer: the caller reads it.
namespace reeve::ledger {

inline constexpr std::int64_t max_caller_questions = 100;

struct CallerQuestion {
  // From the credential (APR-12).
  std::string asked_by;
  // The caller's own name of the question.
  std::optional<std::string> reference = {};
  std::string question;
  // Empty: approve and reject.
  std::vector<model::ApprovalOption> options = {};
  std::optional<std::string> default_value = {};
  // The path of a project.
  std::optional<std::string> project = {};
  // Unset: the question never expires.
  std::optional<base::Milliseconds> expires_after = {};
};

struct CallerAsked {
  model::Approval approval;
  // False: the caller has asked it before under the same reference.
  bool is_new = false;
};

// A question that is repeated with its reference is not asked again, however it was answered. Throws
// `approval.reference_used` if the reference names another question of the caller, `approval.too_many`.
CallerAsked ask_for_caller(Transaction& transaction, const CallerQuestion& question);
std::optional<model::Approval> find_caller_question(store::Session& session, const std::string& asked_by,
                                                    const std::string& reference);

}  // namespace reeve::ledger
