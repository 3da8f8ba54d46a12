#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/clock.h"

namespace reeve::adapter {

// reeve-agent KIND [option…] -- PROGRAM [WORD…]
struct Options {
  agents::AgentKind kind = agents::AgentKind::claude;
  std::optional<std::string> model;
  std::optional<double> budget_usd;
  // The session to resume if the run has none of its own yet.
  std::optional<std::string> session;
  // How long a call waits before its agent is released; nothing: for ever.
  std::optional<base::Milliseconds> release_after = std::chrono::minutes(5);
  // Empty: the `reeve` next to this program.
  std::string reeve_program;
  // The agent's own command.
  std::vector<std::string> command;
  bool wants_help = false;
};

// The words after the program's name. Otherwise what is wrong with them.
std::expected<Options, std::string> parse_options(const std::vector<std::string>& words);
std::string describe_usage();

}  // namespace reeve::adapter
