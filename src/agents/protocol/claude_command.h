#pragma once

#include "agents/protocol/agent_protocol.h"

// How Claude Code and Qwen Code are started so that every call passes the gate.
namespace reeve::agents {

// Prompts go over standard input, by ClaudeProtocol.
AgentCommand make_claude_command(const AgentSetup& setup);
// The prompt is the whole standard input. A budget is ignored: Qwen Code has none.
AgentCommand make_qwen_command(const AgentSetup& setup);

}  // namespace reeve::agents
