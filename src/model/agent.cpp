#include "model/agent.h"

#include <array>

namespace reeve::model {

namespace {

struct AgentRule {
  AgentState from;
  AgentEvent event;
  AgentState to;
};

using enum AgentState;
constexpr auto rules = std::to_array<AgentRule>({
    {idle, AgentEvent::start, spawning},
    {spawning, AgentEvent::spawned, active},
    {spawning, AgentEvent::fail, failed},
    {active, AgentEvent::pause, paused},
    {active, AgentEvent::stop, stopping},
    {active, AgentEvent::fail, failed},
    {paused, AgentEvent::resume, active},
    {paused, AgentEvent::stop, stopping},
    {stopping, AgentEvent::stop, stopped},
    {stopping, AgentEvent::fail, failed},
    {failed, AgentEvent::recover, idle},
});

}  // namespace

std::optional<AgentState> transition(AgentState from, AgentEvent event) noexcept {
  for (const AgentRule& rule : rules) {
    if (rule.from == from && rule.event == event) return rule.to;
  }
  return std::nullopt;
}

bool can_transition(AgentState from, AgentEvent event) noexcept { return transition(from, event).has_value(); }

const std::vector<std::string>& built_in_roles() {
  static const std::vector<std::string> roles = {"mayor",       "deacon",   "crew",     "witness", "planner",
                                                 "implementer", "reviewer", "debugger", "coder"};
  return roles;
}

}  // namespace reeve::model
