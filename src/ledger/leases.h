#pragma once

#include <string>
#include <vector>

#include "ledger/executions.h"
#include "ledger/unit.h"

// Leases and claims (GRF-13). A daemon has one lease for all its claims; a claim that changes hands gets a new epoch,
// and every write with an older epoch is refused. Times are the store's.
namespace reeve::ledger {

struct DaemonIdentity {
  std::string host;
  std::string boot_id;
};

// Returns the daemon's number, which its claims carry.
std::int64_t register_daemon(Transaction& transaction, const DaemonIdentity& identity, base::Milliseconds lease);
// False if the lease has expired: its claims may have been taken over, and the daemon must register again.
bool renew_lease(Transaction& transaction, std::int64_t daemon, base::Milliseconds lease);
// Ends the lease on a clean shutdown, so that others need not wait for it to expire.
void end_lease(Transaction& transaction, std::int64_t daemon);

struct LapsedClaim {
  Claim claim;
  // Its process may have started: it is handled by `on_interrupted`, never silently reassigned.
  bool is_spawned = false;
  std::int64_t daemon = 0;
  std::string host;
  base::WallTime lapsed_at;
};
// Reads a row of work_lapsed or work_begun; if the lease is still valid, `lapsed_at` is when it expires.
LapsedClaim read_lapsed(const store::Row& row);
// For a daemon of `host`: excludes work that belongs to another host alone (ISO-1).
std::vector<LapsedClaim> find_lapsed(Transaction& transaction, const std::string& host, std::int64_t most);

// Takes over a claim that never started. Returns the new claim, or nothing if another daemon was faster or it did
// start.
std::optional<Claim> take_over(Transaction& transaction, const Claim& claim, std::int64_t daemon);

// Takes over a claim of a dead predecessor on this host, started or not: the caller guarantees that it supervises the
// process, or that there is none (RUN-13). Returns the new claim, or nothing if the claim is not current.
std::optional<Claim> adopt(Transaction& transaction, const Claim& claim, std::int64_t daemon);

// Records that the process may have started. False if the claim is no longer this daemon's: nothing may be started.
bool mark_spawned(Transaction& transaction, const Claim& claim, std::optional<base::RunId> run);

}  // namespace reeve::ledger
