#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"

namespace reeve::adapter {

// How agents are started and understood; tests have their own.
struct AgentMaker {
  std::function<agents::AgentCommand(agents::AgentKind, const agents::AgentSetup&)> make_command =
      agents::make_agent_command;
  std::function<std::unique_ptr<agents::AgentProtocol>(agents::AgentKind, const agents::AgentSetup&)> make_protocol =
      agents::make_agent_protocol;
};

// reeve-agent: the words after the program's name, and its environment. Returns the exit code.
int main(const std::vector<std::string>& words, char** environment, const AgentMaker& maker = {}) noexcept;

}  // namespace reeve::adapter
