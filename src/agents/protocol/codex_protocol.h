#pragma once

#include <memory>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// Codex by its app server (AGT-4). Every command and every change of files is asked about (measured with 0.166, `ls`
// too), except for commands that a rule of the person's own CODEX_HOME/rules allows: those come as calls that nobody
// was asked about.
std::unique_ptr<AgentProtocol> make_codex_protocol(const AgentSetup& setup);

}  // namespace reeve::agents
