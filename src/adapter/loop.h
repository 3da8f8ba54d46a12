#pragma once

#include <string>
#include <vector>

#include "adapter/agent_process.h"
#include "adapter/attempt.h"
#include "adapter/driver.h"
#include "agents/protocol/agent_protocol.h"

namespace reeve::adapter {

struct LoopPlan {
  Attempt attempt;
  DriverTerms terms;
  AgentStart start;
  // Written to the agent's standard input, which is then closed.
  std::optional<std::string> input;
  // Where hooks ask.
  std::string hook_socket;
  // Of the agent's own HTTP server.
  std::string secret;
};

// Runs one agent to its end, and returns the exit code. One thread polls; requests that block are made by others.
// Throws base::Error if it cannot begin.
int run_loop(const LoopPlan& plan, agents::AgentProtocol& protocol);

}  // namespace reeve::adapter
