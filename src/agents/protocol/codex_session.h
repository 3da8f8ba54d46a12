#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

// Opening a thread of Codex, and the checks of its answers that make it gated (AGT-5). Pure.
namespace reeve::agents {

base::Value make_codex_hello();
// "0.166.0" from "reeve/0.166.0 (Debian 12.0.0; x86_64) …".
std::optional<std::string> find_codex_version(const base::Value& hello);

// From the answer to `config/read` with its layers: the MCP servers of the person's own settings. A fault if settings
// of the repository are in force: they start programs and allow commands.
std::expected<std::vector<std::string>, ProtocolFault> read_codex_servers(const base::Value& config);

// For `thread/start`, or `thread/resume` of the setup's session. The servers are switched off.
base::Value make_codex_thread(const AgentSetup& setup, const std::vector<std::string>& servers);
// The fault if the policy, the reviewer or the sandbox is not what was asked for. `sandbox` is the name of the policy's
// member: a thread's answer and its later settings differ in it.
std::optional<ProtocolFault> find_codex_fault(const AgentSetup& setup, const base::Value& settings,
                                              std::string_view sandbox);

// Of a turn.
base::Value make_codex_input(std::string_view text);

}  // namespace reeve::agents
