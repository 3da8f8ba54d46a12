#pragma once

#include <optional>

#include "model/approval.h"
#include "store/session.h"

namespace reeve::store {

// An approval with what the record that people see leaves out.
struct ApprovalRow {
  model::Approval approval;
  model::ApprovalKind kind = model::ApprovalKind::question;
  // Of a human node: its position in the workflow, and which time it asked.
  std::optional<std::int64_t> node;
  int iteration = 0;
  // Of a question on a terminal: the keeper's number of the prompt.
  std::optional<std::int64_t> prompt;
  // Whether a daemon made or has looked at the decision (APR-6).
  bool is_settled = false;
};

ApprovalRow read_approval(const Row& row);
std::optional<ApprovalRow> find_approval(Session& session, base::ApprovalId id);
// Its id is given by the store; statuses and times of a decision are not looked at. Somebody is reminded of it when half
// of its time is over.
base::ApprovalId insert_approval(Session& session, const ApprovalRow& row, const std::string& now);

}  // namespace reeve::store
