#pragma once

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// The command as configured, which must start an agent that speaks the Agent Client Protocol ("gemini --acp").
AgentCommand make_acp_command(const AgentSetup& setup);

}  // namespace reeve::agents
