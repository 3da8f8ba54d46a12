#pragma once

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// `codex app-server` on its standard input and output, with everything off that runs without being asked about.
AgentCommand make_codex_command(const AgentSetup& setup);

}  // namespace reeve::agents
