#pragma once

#include <optional>
#include <vector>

#include "model/approval.h"
#include "store/session.h"

namespace reeve::store {

// An approval with the fields that its public record omits.
struct ApprovalRow {
  model::Approval approval;
  // For a human node: its position in the workflow, and the iteration that asked.
  std::optional<std::int64_t> node;
  int iteration = 0;
  // For a terminal question: the keeper's number of the prompt.
  std::optional<std::int64_t> prompt;
  // Whether a daemon made or processed the decision (APR-6).
  bool is_settled = false;
};

// Parses a time, also as the database's own functions write it: "2026-11-15 17:00:00". Nothing if it is invalid.
std::optional<base::WallTime> read_foreign_time(std::string_view text);
ApprovalRow read_approval(const Row& row);
std::optional<ApprovalRow> find_approval(Session& session, base::ApprovalId id);
// The store assigns the id, and the project of a run or an execution; decision status and times are ignored. A reminder
// is due at half of its time; without an expiry, every day.
inline constexpr base::Milliseconds reminder_interval = std::chrono::hours(24);
base::ApprovalId insert_approval(Session& session, const ApprovalRow& row, const std::string& now);

struct ApprovalFilter {
  // Empty: all.
  std::vector<model::ApprovalStatus> statuses = {};
  std::optional<base::RunId> run = {};
  // Only approvals after this one in listing order.
  std::optional<base::ApprovalId> after = {};
  // The path of a project; not combined with `run`.
  std::optional<std::string> project = {};
  std::int64_t most = 50;
};
// Pending approvals alone are listed oldest first (PIP-5), every other selection newest first.
std::vector<model::Approval> list_approvals(Session& session, const ApprovalFilter& filter);

}  // namespace reeve::store
