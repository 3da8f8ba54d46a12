#pragma once

#include <functional>
#include <memory>

#include "ledger/executions.h"

// The most frequent unit of workers, written so that a pipelined store gets its reads early.
namespace reeve::ledger {

// Called on the store thread after the commit, or with the error.
using StepDone = std::function<void(const std::optional<base::Error>&, StepResult&)>;

// A claimed node ended: Executions::conclude. The executions must outlive it.
std::unique_ptr<Unit> make_conclude(Executions& executions, const WorkerCapacity& worker, const Claim& claim,
                                    engine::ExecutionEvent event, StepDone done);

}  // namespace reeve::ledger
