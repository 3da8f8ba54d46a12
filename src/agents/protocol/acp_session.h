#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

// Opening a session of the Agent Client Protocol, version 1, and its modes. Pure.
namespace reeve::agents {

base::Value make_acp_hello();

struct AcpAgent {
  std::optional<std::string> version;
  // Without and with a replay of the conversation.
  bool can_resume = false;
  bool can_load = false;
};
// A fault if the agent speaks another version.
std::expected<AcpAgent, ProtocolFault> read_acp_hello(const base::Value& hello);

struct AcpModes {
  std::string current;
  std::vector<std::string> available;
};
// From the answer that opens a session; none if the agent has no modes.
std::optional<AcpModes> find_acp_modes(const base::Value& session);
// Whether agents are known to ask their client in a mode of this name.
bool is_asking_mode(std::string_view mode) noexcept;
// The mode to ask for; nothing if none is known to ask.
std::optional<std::string> choose_asking_mode(const AcpModes& modes);
// The mode that an update says is in force; empty if it does not say which. Of agents with modes, some report it as an
// option of their configuration.
std::optional<std::string> find_updated_mode(const base::Value& update, bool has_modes);

std::optional<std::string> find_acp_model(const base::Value& session);
// The id of the first option of that kind: ids mean nothing by themselves.
std::optional<std::string> find_option(const base::Value& options, std::string_view kind);

}  // namespace reeve::agents
