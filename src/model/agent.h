#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"

// A named identity with a role, a tool and a life cycle (SPEC §5).
namespace reeve::model {

enum class AgentState { idle, spawning, active, paused, stopping, stopped, failed };
REEVE_DESCRIBE_ENUM(AgentState, idle, spawning, active, paused, stopping, stopped, failed)

enum class AgentEvent { start, spawned, pause, resume, stop, fail, recover };
REEVE_DESCRIBE_ENUM(AgentEvent, start, spawned, pause, resume, stop, fail, recover)

// AGT-1: the state that the event leads to; nullopt if the event is not allowed in this state.
std::optional<AgentState> transition(AgentState from, AgentEvent event) noexcept;
bool can_transition(AgentState from, AgentEvent event) noexcept;

struct AgentTransition {
  AgentState from = AgentState::idle;
  AgentEvent event = AgentEvent::start;
  AgentState to = AgentState::idle;
  base::WallTime at;
  friend bool operator==(const AgentTransition&, const AgentTransition&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentTransition, (), (from, event, to, at))

struct Agent {
  base::AgentId agent_id{0};
  std::string name;
  std::string role;
  std::optional<std::string> tool;
  AgentState state = AgentState::idle;
  std::optional<base::WallTime> last_seen;
  std::vector<AgentTransition> history;
  friend bool operator==(const Agent&, const Agent&) = default;
};
BOOST_DESCRIBE_STRUCT(Agent, (), (agent_id, name, role, tool, state, last_seen, history))

// Roles that exist without being configured (AGT-3).
const std::vector<std::string>& built_in_roles();

// The role of a task without work: it completes at once with its inputs, and needs no tool.
inline constexpr const char* noop_role = "noop";

}  // namespace reeve::model
