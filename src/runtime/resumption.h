#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/approval.h"

// What an attempt that is started on an answer is told beside its launch (RUN-8, APR-5).
namespace reeve::runtime {

struct Resumption {
  // AUTO_APPROVAL, REEVE_APPROVAL_ID, REEVE_DECISIONS.
  std::vector<std::string> environment;
  // `resume_args` with `{value}`, `{comment}` and `{approval_id}` filled in, each one word.
  std::vector<std::string> words;
};

// All decisions of a run: {"deploy-1": {"approval_id": "AP-4", "status": "approved", "chosen_value": "staging",
// "comment": null}}, by the tool's own name of the question, else by its id. Bounded: the newest.
base::Value describe_decisions(const std::vector<model::Approval>& approvals);

// The grant that an attempt was created on; nothing when it was created without one.
std::optional<model::Approval> find_grant(ledger::Transaction& transaction, base::RunId run, int attempt);

// Of the attempt that was created on a grant; nothing when it was created without one.
std::optional<Resumption> find_resumption(ledger::Transaction& transaction, base::RunId run, int attempt,
                                          const std::vector<std::string>& resume_args);

}  // namespace reeve::runtime
