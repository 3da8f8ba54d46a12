#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/approval.h"

// What an attempt that resumes after a decision gets in addition to its launch (RUN-8, APR-5).
namespace reeve::runtime {

// A run that has exited and may start again: with a grant, or without one after the tool calls that it was released for
// were answered (APR-8).
struct Continuation {
  base::RunId run{0};
  std::optional<base::ApprovalId> grant = {};
  friend auto operator<=>(const Continuation&, const Continuation&) = default;
};

struct Resumption {
  // REEVE_DECISIONS; with a grant also AUTO_APPROVAL and REEVE_APPROVAL_ID.
  std::vector<std::string> environment;
  // `resume_args` with `{value}`, `{comment}` and `{approval_id}` expanded, each within one argument. Without a grant,
  // they are those of the newest decision.
  std::vector<std::string> words;
};

// All decisions of a run: {"deploy-1": {"approval_id": "AP-4", "status": "approved", "chosen_value": "staging",
// "comment": null}}, keyed by the tool's own name for the question, otherwise by id. Limited to the newest.
base::Value describe_decisions(const std::vector<model::Approval>& approvals);

// The grant that an attempt was created with; nothing if there was none.
std::optional<model::Approval> find_grant(ledger::Transaction& transaction, base::RunId run, int attempt);

// What the answers to the tool calls of a released run give to its next attempt, which asks for every call again.
Resumption resume_after_calls(const std::vector<model::Approval>& approvals,
                              const std::vector<std::string>& resume_args);

// For an attempt created with a grant, or for a released run; nothing for any other.
std::optional<Resumption> find_resumption(ledger::Transaction& transaction, base::RunId run, int attempt,
                                          const std::vector<std::string>& resume_args);

}  // namespace reeve::runtime
