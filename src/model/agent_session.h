#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/describe.h"

namespace reeve::model {

// A session of an agent, as its adapter reports it (AGT-4). A run may have several, and one may span attempts.
struct AgentSession {
  std::string session_id;
  std::string agent;
  std::optional<std::string> version;
  std::optional<std::string> model;
  int first_attempt = 1;
  int last_attempt = 1;
  base::WallTime started_at;
  base::WallTime last_seen_at;
  friend bool operator==(const AgentSession&, const AgentSession&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentSession, (),
                      (session_id, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at))

}  // namespace reeve::model
