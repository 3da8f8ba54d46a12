#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/runs.h"
#include "model/reported_outcome.h"

// Live attempts: what the next daemon must know about them (RUN-13), and what their output reported.
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
  // Replaces the deadline while it waits for an answer (RUN-3).
  std::optional<std::int64_t> time_left_ms;
  // As stored by record_ending().
  std::optional<std::string> ending;
  // As stored by record_outcome().
  std::optional<model::ReportedOutcome> reported;
};

// All unfinished attempts, of every host.
std::vector<LiveAttempt> find_live_attempts(store::Session& session);

// Moves the attempt from a dead predecessor to this daemon. Returns the new epoch, or nothing if the claim is no longer
// current.
std::optional<std::int64_t> adopt_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                          std::int64_t daemon);
// The attempt provably never ran: gives the same attempt to another keeper.
std::optional<std::int64_t> reassign_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                             const AttemptStart& start);

// GRF-13: takes the attempt from a host whose keepers have killed their process trees because they had no daemon. Later
// writes by that host are refused.
void rehost_attempt(Transaction& transaction, base::RunId run, int attempt, std::int64_t daemon,
                    const std::string& host);

// Stores why an attempt is about to be ended from outside, as JSON, before anything is done to it. False if the claim
// is no longer current.
bool record_ending(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const std::string& ending);

// RUN-18: stores what the attempt reported about its end, where it takes effect; of several reports, the one that
// matters most (engine::outweighs), without an implausible time. False if the claim is no longer current.
bool record_outcome(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                    const model::ReportedOutcome& reported);
std::optional<model::ReportedOutcome> find_outcome(store::Session& session, base::RunId run, int attempt);
// How many attempts up to the run's last one reported a usage limit, without another one in between.
int count_limited(store::Session& session, base::RunId run);

// What an attempt's output reported, and up to which offset it was read: stored together, so that nothing is counted
// twice.
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
  // To be added to the run's: what no earlier write contained.
  std::optional<model::Usage> added_usage = {};
  std::optional<std::vector<model::ToolError>> tool_errors = {};
};
// False if the claim is no longer current: nothing was stored.
bool record_news(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const AttemptNews& news);

}  // namespace reeve::ledger
