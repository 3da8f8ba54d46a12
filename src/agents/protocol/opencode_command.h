#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

// How opencode is started and told to ask about every call. Pure.
namespace reeve::agents {

// `opencode serve`. The server's password is `AgentSetup::secret`, its user is "opencode" (HTTP Basic).
AgentCommand make_opencode_command(const AgentSetup& setup);

// The permission rules of a session, which come after those of all settings and agents. The last match decides.
base::Value make_opencode_rules();
// Whether a session, as the server describes it, ends with rules that allow nothing unasked.
bool has_opencode_rules(const base::Value& session);

// "http://127.0.0.1:PORT" or "http://[::1]:PORT" from the begin of a text; nothing for any other address.
std::optional<std::string> parse_loopback_address(std::string_view text);

}  // namespace reeve::agents
