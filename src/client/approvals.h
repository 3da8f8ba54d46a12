#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/approval.h"
#include "wire/tool_call.h"

// Requests about approvals and the audit log.
namespace reeve::client {

struct ApprovalRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Approval approval;
};

struct ApprovalSelection {
  // Empty: pending only.
  std::vector<std::string> statuses = {};
  // All statuses.
  bool all = false;
  std::optional<base::RunId> run = {};
  // The path of the only project to list; not combined with `run`.
  std::optional<std::string> project = {};
};
// Pending approvals oldest first; every other selection newest first.
std::vector<ApprovalRecord> list_approvals(Daemon& daemon, const ApprovalSelection& selection, std::size_t limit);
ApprovalRecord get_approval(Daemon& daemon, base::ApprovalId id);

struct Verdict {
  enum class Word { approve, reject };
  Word word = Word::approve;
  std::optional<std::string> choice = {};
  // The line to type into the tool, for a question that takes text.
  std::optional<std::string> answer = {};
  std::optional<std::string> comment = {};
  // Sent once and never stored.
  std::optional<std::string> secret = {};
  // Also makes a standing grant from a tool call.
  std::optional<wire::GrantTerms> always = {};
};
// The decided record. Throws a Refusal if it was already decided, or the choice is invalid.
ApprovalRecord decide(Daemon& daemon, base::ApprovalId id, const Verdict& verdict);
// The same for an approval that a person has read. If it has changed since, nothing is decided:
// `api.precondition_failed`.
ApprovalRecord decide_shown(Daemon& daemon, const model::Approval& shown, const Verdict& verdict);

// Returns the record once it is decided or expired, or the current one after the timeout. `name` is its id or, on a
// run's own socket, the name that the tool gave it.
ApprovalRecord wait_approval(Daemon& daemon, const std::string& name, base::Milliseconds time);

// Entries of the audit log in order, starting after `since`; a negative value counts from the end.
std::vector<base::Value> list_audit(Daemon& daemon, std::int64_t since, std::size_t limit);
// {"whole", "entries", "broken_at", "reason"}
base::Value verify_audit(Daemon& daemon);

}  // namespace reeve::client
