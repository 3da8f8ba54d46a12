#pragma once

#include <memory>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// opencode as an HTTP server with an event stream. Its permissions reach as far as `asks`.
std::unique_ptr<AgentProtocol> make_opencode_protocol(const AgentSetup& setup);

}  // namespace reeve::agents
