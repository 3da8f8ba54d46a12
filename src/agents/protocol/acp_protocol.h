#pragma once

#include <memory>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// Any agent that speaks the Agent Client Protocol, version 1 (AGT-4). It asks only about the calls that it finds worth
// asking about: Gemini, Qwen and claude-agent-acp run `ls` without (measured).
std::unique_ptr<AgentProtocol> make_acp_protocol(const AgentSetup& setup);

}  // namespace reeve::agents
