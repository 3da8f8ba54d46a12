#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/agent.h"

// State transitions of an agent (AGT-1, AGT-2). Pure.
namespace reeve::engine {

// The transitions that an event causes, in order; nothing if the event is not allowed in this state. A death while
// paused is Resume, then Fail: both are written in one transaction.
std::optional<std::vector<model::AgentTransition>> decide(model::AgentState from, model::AgentEvent event,
                                                          base::WallTime now);

// The pause before the recovery that follows the given number of failures of one kind (from 1): 2 s, doubled up to 60
// s, minus up to a quarter by `jitter` (0 … 1), so that many agents do not recover at once. Nothing after three
// attempts: a person must step in.
std::optional<base::Milliseconds> recovery_pause(int failures, double jitter);

}  // namespace reeve::engine
