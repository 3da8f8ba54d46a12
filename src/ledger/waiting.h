#pragma once

#include "ledger/runs.h"

// What a run waits for: any number of tool calls, and at most one plain question (APR-9).
namespace reeve::ledger {

// Calls of the run's last attempt that wait for a person.
std::int64_t count_waiting_calls(store::Session& session, const model::Run& run);

bool is_attempt_alive(store::Session& session, base::RunId run, int attempt);

// The run is running again unless a question or a tool call of it still waits, or it has no process. Returns it as it
// is now. Requires that it is locked.
model::Run continue_run(Transaction& transaction, const model::Run& run);

// Whether the process ended while calls waited, all of them are answered, and nothing else is asked (APR-8). True until
// the next attempt begins. Requires that the run is locked.
bool may_resume_released(Transaction& transaction, const model::Run& run);

}  // namespace reeve::ledger
