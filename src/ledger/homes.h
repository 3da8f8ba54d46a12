#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/leases.h"

// ISO-1: an execution isolated by git is worked on at one owner host. If its branch has a remote, ownership may move
// while no daemon works on it.
namespace reeve::ledger {

// Executions owned by other hosts that may be moved here: they have ready or abandoned work, and no daemon with a valid
// lease works on them, nor with started work that is still within `grace` (GRF-13).
std::vector<base::ExecutionId> find_adrift(Transaction& transaction, const std::string& host, base::Milliseconds grace,
                                           std::int64_t most);

struct OwnerHostMove {
  base::ExecutionId root{0};
  // The new owner host, and the project there.
  std::string host;
  std::string project;
  // The commit that was found on the remote and is available at the new host.
  std::string tip;
  base::Milliseconds grace{0};
};
struct OwnerHostMoved {
  // The execution and its subgraphs.
  std::vector<base::ExecutionId> executions;
  // Claims of dead daemons, to be taken over in the same transaction, so that all work is on one host.
  std::vector<LapsedClaim> left;
};
// Nothing if a daemon works on it, it has changed since, or it has no remote.
std::optional<OwnerHostMoved> move_owner_host(Transaction& transaction, Executions& executions,
                                              const OwnerHostMove& move);

}  // namespace reeve::ledger
