#pragma once

#include <cstdint>

#include "ledger/executions.h"
#include "ledger/unit.h"

namespace reeve::ledger {

// What became of unfinished work when a backup was restored.
struct SettledRestore {
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  std::int64_t grants = 0;
};

// Called before anything else on a restored database, so that the copy never acts on the processes, worktrees and
// branches of the original: runs with a process become `failed`, executions that run or have a branch become
// `cancelled`, grants that were not used become void, standing grants are revoked, and worktrees are forgotten without
// touching them. Questions that only wait for a person stay. Can be repeated.
SettledRestore settle_restored(Transaction& transaction, Executions& executions);

}  // namespace reeve::ledger
