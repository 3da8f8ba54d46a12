#include "engine/agent.h"

#include <algorithm>

namespace reeve::engine {

using model::AgentEvent;
using model::AgentState;

std::optional<std::vector<model::AgentTransition>> decide(AgentState from, AgentEvent event, base::WallTime now) {
  std::vector<model::AgentTransition> transitions;
  const auto step = [&](AgentEvent happened) {
    const auto to = model::transition(from, happened);
    if (!to) return false;
    transitions.push_back({from, happened, *to, now});
    from = *to;
    return true;
  };
  if (event == AgentEvent::fail && from == AgentState::paused && !step(AgentEvent::resume)) return std::nullopt;
  if (!step(event)) return std::nullopt;
  return transitions;
}

std::optional<base::Milliseconds> recovery_pause(int failures, double jitter) {
  constexpr int max_recoveries = 3;
  constexpr base::Milliseconds first = std::chrono::seconds(2);
  constexpr base::Milliseconds longest = std::chrono::seconds(60);
  if (failures < 1 || failures > max_recoveries) return std::nullopt;
  const base::Milliseconds full = std::min(longest, first * (1 << (failures - 1)));
  const double share = 1.0 - 0.25 * std::clamp(jitter, 0.0, 1.0);
  return base::Milliseconds(static_cast<std::int64_t>(static_cast<double>(full.count()) * share));
}

}  // namespace reeve::engine
