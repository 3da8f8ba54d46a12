#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/approval.h"

// What a client asks of approvals and of the trail of what was decided.
namespace reeve::client {

struct ApprovalRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  model::Approval approval;
};

struct ApprovalSelection {
  // None: the pending ones.
  std::vector<std::string> statuses = {};
  // All, whatever their status.
  bool all = false;
  std::optional<base::RunId> run = {};
};
// The pending ones alone the oldest first, every other selection the newest first.
std::vector<ApprovalRecord> list_approvals(Daemon& daemon, const ApprovalSelection& selection, std::size_t limit);
ApprovalRecord get_approval(Daemon& daemon, base::ApprovalId id);

struct Verdict {
  enum class Word { approve, reject };
  Word word = Word::approve;
  std::optional<std::string> choice = {};
  std::optional<std::string> comment = {};
  // Sent once, and kept nowhere.
  std::optional<std::string> secret = {};
};
// The decided record; a Refusal when somebody else was faster, or the choice is none.
ApprovalRecord decide(Daemon& daemon, base::ApprovalId id, const Verdict& verdict);

// The record when it is decided or has expired, or the present one when the time is over. `name` is its id, or on a
// run's own socket what the tool itself called it.
ApprovalRecord wait_approval(Daemon& daemon, const std::string& name, base::Milliseconds time);

// Entries of the audit trail in their order, from the one after `since`; less than 0: so many before the end.
std::vector<base::Value> list_audit(Daemon& daemon, std::int64_t since, std::size_t limit);
// {"whole", "entries", "broken_at", "reason"}
base::Value verify_audit(Daemon& daemon);

}  // namespace reeve::client
