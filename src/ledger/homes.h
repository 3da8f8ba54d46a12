#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/leases.h"

// ISO-1: what is isolated by git is worked on at one host, its home. Where its branch goes by a remote that may move,
// while nobody is at work on it.
namespace reeve::ledger {

// Executions at home elsewhere that may be brought here: something of them is ready or left behind, and nobody is at
// work on them whose lease holds, or whose begun work has not been given up for lack of it (`grace`, GRF-13).
std::vector<base::ExecutionId> find_adrift(Transaction& transaction, const std::string& host, base::Milliseconds grace,
                                           std::int64_t most);

struct HomeMove {
  base::ExecutionId root{0};
  // Where to, and the project there.
  std::string host;
  std::string project;
  // The commit that was found on the remote and is known there.
  std::string tip;
  base::Milliseconds grace{0};
};
struct HomeMoved {
  // The execution and its subgraphs.
  std::vector<base::ExecutionId> executions;
  // Of daemons that are dead: to be taken on in the same transaction, so that all work is at one place.
  std::vector<LapsedClaim> left;
};
// Nothing when somebody works on it, it has moved on since, or it goes by no remote.
std::optional<HomeMoved> move_home(Transaction& transaction, Executions& executions, const HomeMove& move);

}  // namespace reeve::ledger
