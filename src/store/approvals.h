#pragma once

#include <optional>
#include <vector>

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

// A plain update may spell a time as the database's own functions do: "2026-11-15 17:00:00". Nothing for what is none.
std::optional<base::WallTime> read_foreign_time(std::string_view text);
ApprovalRow read_approval(const Row& row);
std::optional<ApprovalRow> find_approval(Session& session, base::ApprovalId id);
// Its id is given by the store; statuses and times of a decision are not looked at. Somebody is reminded of it when
// half of its time is over.
base::ApprovalId insert_approval(Session& session, const ApprovalRow& row, const std::string& now);

struct ApprovalFilter {
  // None: all.
  std::vector<model::ApprovalStatus> statuses = {};
  std::optional<base::RunId> run = {};
  // Only those that come after it in the order of the listing.
  std::optional<base::ApprovalId> after = {};
  std::int64_t most = 50;
};
// Pending ones alone the oldest first (PIP-5): it waits longest. Every other selection the newest first.
std::vector<model::Approval> list_approvals(Session& session, const ApprovalFilter& filter);

}  // namespace reeve::store
