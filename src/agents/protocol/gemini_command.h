#pragma once

#include <string>
#include <string_view>

#include "agents/protocol/agent_protocol.h"

// How Gemini CLI is started with Reeve's hook before every tool call. Pure.
namespace reeve::agents {

// The prompt is on standard input, where other users of the machine cannot read it. It has to be there within 500 ms
// after the agent looks for it.
AgentCommand make_gemini_command(const AgentSetup& setup);

// The prompt as text for the model only: without it Gemini runs a line that begins with "/" as one of its own commands
// and reads the files behind "@", both without asking a hook.
std::string literal_gemini_prompt(std::string_view prompt);

}  // namespace reeve::agents
