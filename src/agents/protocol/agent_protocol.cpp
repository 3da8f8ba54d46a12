#include "agents/protocol/agent_protocol.h"

#if __has_include("agents/protocol/claude_protocol.h")
#define REEVE_HAS_CLAUDE
#include "agents/protocol/claude_command.h"
#include "agents/protocol/claude_protocol.h"
#endif
#if __has_include("agents/protocol/codex_protocol.h")
#define REEVE_HAS_CODEX
#include "agents/protocol/codex_command.h"
#include "agents/protocol/codex_protocol.h"
#endif
#if __has_include("agents/protocol/acp_protocol.h")
#define REEVE_HAS_ACP
#include "agents/protocol/acp_command.h"
#include "agents/protocol/acp_protocol.h"
#endif
#if __has_include("agents/protocol/gemini_protocol.h")
#define REEVE_HAS_GEMINI
#include "agents/protocol/gemini_command.h"
#include "agents/protocol/gemini_protocol.h"
#endif
#if __has_include("agents/protocol/opencode_protocol.h")
#define REEVE_HAS_OPENCODE
#include "agents/protocol/opencode_command.h"
#include "agents/protocol/opencode_protocol.h"
#endif

namespace reeve::agents {

AgentCommand make_agent_command(AgentKind kind, const AgentSetup& setup) {
  switch (kind) {
#ifdef REEVE_HAS_CLAUDE
    case AgentKind::claude:
      return make_claude_command(setup);
    case AgentKind::qwen:
      return make_qwen_command(setup);
#endif
#ifdef REEVE_HAS_CODEX
    case AgentKind::codex:
      return make_codex_command(setup);
#endif
#ifdef REEVE_HAS_ACP
    case AgentKind::acp:
      return make_acp_command(setup);
#endif
#ifdef REEVE_HAS_GEMINI
    case AgentKind::gemini:
      return make_gemini_command(setup);
#endif
#ifdef REEVE_HAS_OPENCODE
    case AgentKind::opencode:
      return make_opencode_command(setup);
#endif
    default:
      return {.argv = setup.command};
  }
}

std::unique_ptr<AgentProtocol> make_agent_protocol(AgentKind kind, [[maybe_unused]] const AgentSetup& setup) {
  switch (kind) {
#ifdef REEVE_HAS_CLAUDE
    case AgentKind::claude:
      return make_claude_protocol(setup);
    case AgentKind::qwen:
      return make_qwen_protocol(setup);
#endif
#ifdef REEVE_HAS_CODEX
    case AgentKind::codex:
      return make_codex_protocol(setup);
#endif
#ifdef REEVE_HAS_ACP
    case AgentKind::acp:
      return make_acp_protocol(setup);
#endif
#ifdef REEVE_HAS_GEMINI
    case AgentKind::gemini:
      return make_gemini_protocol(setup);
#endif
#ifdef REEVE_HAS_OPENCODE
    case AgentKind::opencode:
      return make_opencode_protocol(setup);
#endif
    default:
      return nullptr;
  }
}

}  // namespace reeve::agents
