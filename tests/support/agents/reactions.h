#pragma once

#include <string>
#include <variant>
#include <vector>

#include "agents/protocol/agent_protocol.h"

namespace reeve::testing {

// The events of one type.
template <class Event>
std::vector<Event> events_of(const agents::AgentReaction& reaction) {
  std::vector<Event> found;
  for (const agents::AgentEvent& event : reaction.events) {
    if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
  }
  return found;
}

// The reason of a fault, after "ungated: " if it is one; "" without a fault.
inline std::string fault_of(const agents::AgentReaction& reaction) {
  const auto faults = events_of<agents::ProtocolFault>(reaction);
  if (faults.empty()) return {};
  return (faults.front().is_ungated ? "ungated: " : "") + faults.front().reason;
}

}  // namespace reeve::testing
