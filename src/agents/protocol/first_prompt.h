#pragma once

#include <string>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// The first prompt of a process of an agent that forgets the call that its session was released with, and does not ask
// for it again by itself.
std::string make_first_prompt(const AgentSetup& setup);

}  // namespace reeve::agents
