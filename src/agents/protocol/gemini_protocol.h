#pragma once

#include <memory>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// Gemini CLI with `-o stream-json`. Its calls are gated by the hook, so that it never sends CallAsked.
std::unique_ptr<AgentProtocol> make_gemini_protocol(const AgentSetup& setup);

}  // namespace reeve::agents
