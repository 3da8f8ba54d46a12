#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/run.h"

// Executions that a person holds.
namespace reeve::ledger {

struct ExecutionPausing {
  bool is_paused = true;
  std::string by = {};
  // With a shared store, the daemon that was asked: runs that others hold are paused in the store, and each daemon
  // follows that.
  std::optional<std::int64_t> daemon = {};
};
// Pauses an execution and its subgraphs, or lets them continue: while it is paused no node starts, and runs that begin
// are held. Returns its unfinished runs. Throws `execution.not_found`, `execution.over`.
std::vector<model::Run> pause_execution(Transaction& transaction, base::ExecutionId id,
                                        const ExecutionPausing& pausing);

}  // namespace reeve::ledger
