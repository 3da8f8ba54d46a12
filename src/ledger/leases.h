#pragma once

#include <string>
#include <vector>

#include "ledger/executions.h"
#include "ledger/unit.h"

// Who holds what, and for how long (GRF-13). A daemon has one lease for all that it has claimed; a claim that changes
// hands gets a new epoch, and every write with an older one is refused. Times are the store's.
namespace reeve::ledger {

struct DaemonIdentity {
  std::string host;
  std::string boot_id;
};

// The daemon's number, which its claims carry.
std::int64_t register_daemon(Transaction& transaction, const DaemonIdentity& identity, base::Milliseconds lease);
// False: it is over, and what it covered may be another's by now. The daemon must begin anew.
bool renew_lease(Transaction& transaction, std::int64_t daemon, base::Milliseconds lease);
// It leaves in order: others need not wait for its lease.
void end_lease(Transaction& transaction, std::int64_t daemon);

struct LapsedClaim {
  Claim claim;
  // Its process may have begun: it goes through `on_interrupted`, never silently to another.
  bool is_spawned = false;
  std::int64_t daemon = 0;
  std::string host;
  base::WallTime lapsed_at;
};
// As work_lapsed and work_begun give it; of one whose lease holds, when that will be over.
LapsedClaim read_lapsed(const store::Row& row);
// For a daemon of `host`: not what belongs to another host alone (ISO-1).
std::vector<LapsedClaim> find_lapsed(Transaction& transaction, const std::string& host, std::int64_t most);

// Takes over what never began. The new claim, or nothing when somebody was faster or it began after all.
std::optional<Claim> take_over(Transaction& transaction, const Claim& claim, std::int64_t daemon);

// Takes over what its dead predecessor on this host had, begun or not: the caller vouches that it holds what runs, or
// that nothing does (RUN-13). The new claim, or nothing when the claim is another's.
std::optional<Claim> adopt(Transaction& transaction, const Claim& claim, std::int64_t daemon);

// From here on the process may have begun. False: the claim is no longer this daemon's, and nothing may be started.
bool mark_spawned(Transaction& transaction, const Claim& claim, std::optional<base::RunId> run);

}  // namespace reeve::ledger
