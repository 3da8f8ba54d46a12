#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/agent.h"

// What happens to an agent (AGT-1, AGT-2). Pure.
namespace reeve::engine {

// The transitions that an event makes, in order; nothing when it may not happen here. A death while paused is Resume,
// then Fail: both are written in one transaction.
std::optional<std::vector<model::AgentTransition>> decide(model::AgentState from, model::AgentEvent event,
                                                          base::WallTime now);

// How long to wait before the recovery that follows this many failures of one kind (from 1 on): 2 s, doubled up to 60
// s, less up to a quarter by `jitter` (0 … 1), so that many agents do not come back at once. Nothing when it was tried
// three times: a person must look.
std::optional<base::Milliseconds> recovery_pause(int failures, double jitter);

}  // namespace reeve::engine
