#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/approval.h"

// What an attempt that resumes after a decision gets in addition to its launch (RUN-8, APR-5).
namespace reeve::runtime {

struct Resumption {
  // AUTO_APPROVAL, REEVE_APPROVAL_ID, REEVE_DECISIONS.
  std::vector<std::string> environment;
  // `resume_args` with `{value}`, `{comment}` and `{approval_id}` expanded, each within one argument.
  std::vector<std::string> words;
};

// All decisions of a run: {"deploy-1": {"approval_id": "AP-4", "status": "approved", "chosen_value": "staging",
// "comment": null}}, keyed by the tool's own name for the question, otherwise by id. Limited to the newest.
base::Value describe_decisions(const std::vector<model::Approval>& approvals);

// The grant that an attempt was created with; nothing if there was none.
std::optional<model::Approval> find_grant(ledger::Transaction& transaction, base::RunId run, int attempt);

// For an attempt created with a grant; nothing if there was none.
std::optional<Resumption> find_resumption(ledger::Transaction& transaction, base::RunId run, int attempt,
                                          const std::vector<std::string>& resume_args);

}  // namespace reeve::runtime
