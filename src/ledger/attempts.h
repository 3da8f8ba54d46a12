#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/runs.h"

// Attempts that live: what the next daemon must know of them (RUN-13), and what their lines said.
namespace reeve::ledger {

struct LiveAttempt {
  base::RunId run{0};
  AttemptClaim claim;
  KeeperIdentity keeper;
  std::string nonce;
  std::int64_t out_offset = 0;
  std::int64_t err_offset = 0;
  bool has_failure_marker = false;
  bool has_result = false;
  std::optional<std::int64_t> deadline_ms;
  // Instead, while it waits for an answer (RUN-3).
  std::optional<std::int64_t> time_left_ms;
  // As record_ending stored it.
  std::optional<std::string> ending;
};

// All that have not ended, of every host.
std::vector<LiveAttempt> find_live_attempts(store::Session& session);

// From its dead predecessor to this daemon; the new epoch, or nothing when the claim is not the attempt's any more.
std::optional<std::int64_t> adopt_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                          std::int64_t daemon);
// It provably never ran: the same attempt in another keeper's hands.
std::optional<std::int64_t> reassign_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                             const AttemptStart& start);

// GRF-13: from a host whose keepers have ended their trees for want of a daemon. What it says later is refused.
void rehost_attempt(Transaction& transaction, base::RunId run, int attempt, std::int64_t daemon,
                    const std::string& host);

// It is about to be ended from outside: why, as JSON, stored before anything is done to it. False when the claim is not
// the attempt's any more.
bool record_ending(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const std::string& ending);

// What an attempt's output said, and up to where it was read: stored together, so that nothing counts twice.
struct AttemptNews {
  std::int64_t out_offset = 0;
  std::int64_t err_offset = 0;
  bool has_failure_marker = false;
  std::optional<std::string> result = {};
  std::optional<std::int64_t> deadline_ms = {};
  std::optional<base::WallTime> last_output_at = {};
  std::optional<base::WallTime> last_heartbeat_at = {};
  std::optional<std::string> last_error = {};
  std::optional<model::Progress> progress = {};
  // All of it so far.
  std::optional<model::Usage> usage = {};
  std::optional<std::vector<model::ToolError>> tool_errors = {};
};
// False when the claim is not the attempt's any more: nothing was stored.
bool record_news(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const AttemptNews& news);

}  // namespace reeve::ledger
