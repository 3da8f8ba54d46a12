#pragma once

#include <functional>
#include <memory>

#include "ledger/executions.h"

// The unit that workers submit most, made so that a store whose statements travel together gets its reads early.
namespace reeve::ledger {

// Called on the store thread after the commit, or with what went wrong.
using StepDone = std::function<void(const std::optional<base::Error>&, StepResult&)>;

// A claimed node ended: Executions::conclude. The executions must outlive it.
std::unique_ptr<Unit> make_conclude(Executions& executions, const Worker& worker, const Claim& claim,
                                    engine::ExecutionEvent event, StepDone done);

}  // namespace reeve::ledger
