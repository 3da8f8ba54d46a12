#pragma once

#include <optional>
#include <string>

#include "ledger/unit.h"
#include "model/execution.h"
#include "model/run.h"

// Failures that a person has dismissed: they keep their status, and are not shown as news again. No event is sent,
// because nothing about the work has changed.
namespace reeve::ledger {

// Throws `run.not_found`, `run.not_failed`.
model::Run dismiss_run(Transaction& transaction, base::RunId id);
// Throws `execution.not_found`, `execution.not_failed`.
void dismiss_execution(Transaction& transaction, base::ExecutionId id);
// All recent failures, or those of the project with this path.
void dismiss_all(Transaction& transaction, const std::optional<std::string>& project);

}  // namespace reeve::ledger
