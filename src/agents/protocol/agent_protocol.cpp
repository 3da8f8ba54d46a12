#include "agents/protocol/agent_protocol.h"

#include "agents/protocol/acp_command.h"
#include "agents/protocol/acp_protocol.h"
#include "agents/protocol/claude_command.h"
#include "agents/protocol/claude_protocol.h"
#include "agents/protocol/codex_command.h"
#include "agents/protocol/codex_protocol.h"
#include "agents/protocol/gemini_command.h"
#include "agents/protocol/gemini_protocol.h"
#include "agents/protocol/opencode_command.h"
#include "agents/protocol/opencode_protocol.h"

namespace reeve::agents {

AgentCommand make_agent_command(AgentKind kind, const AgentSetup& setup) {
  switch (kind) {
    case AgentKind::claude:
      return make_claude_command(setup);
    case AgentKind::codex:
      return make_codex_command(setup);
    case AgentKind::gemini:
      return make_gemini_command(setup);
    case AgentKind::qwen:
      return make_qwen_command(setup);
    case AgentKind::opencode:
      return make_opencode_command(setup);
    case AgentKind::acp:
      return make_acp_command(setup);
  }
  return {};
}

std::unique_ptr<AgentProtocol> make_agent_protocol(AgentKind kind, const AgentSetup& setup) {
  switch (kind) {
    case AgentKind::claude:
      return make_claude_protocol(setup);
    case AgentKind::codex:
      return make_codex_protocol(setup);
    case AgentKind::gemini:
      return make_gemini_protocol(setup);
    case AgentKind::qwen:
      return make_qwen_protocol(setup);
    case AgentKind::opencode:
      return make_opencode_protocol(setup);
    case AgentKind::acp:
      return make_acp_protocol(setup);
  }
  return nullptr;
}

}  // namespace reeve::agents
