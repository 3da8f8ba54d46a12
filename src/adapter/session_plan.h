#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agents/protocol/agent_protocol.h"
#include "base/random.h"
#include "base/value.h"
#include "wire/tool_call.h"

// With which session an agent starts (AGT-4). Pure.
namespace reeve::adapter {

// The run's last session, as Reeve has stored it.
struct StoredSession {
  std::string session;
  std::string agent;
  wire::SessionUsage usage;
};
// The document of GET /api/session; nothing if it names no session.
std::optional<StoredSession> parse_stored_session(const base::Value& document);

struct SessionRequest {
  agents::AgentKind kind = agents::AgentKind::claude;
  std::optional<StoredSession> stored;
  // The session of another run, which this run is to continue.
  std::optional<std::string> resume;
  std::string prompt;
  // The decisions on the calls that the run was released for: JSON.
  std::optional<std::string> answers;
};

struct SessionPlan {
  // Empty if the agent chooses it.
  std::string session;
  bool resumes = false;
  bool has_deferred_call = false;
  // For the start.
  std::string prompt;
  // For an agent that has no prompt at its start and stays silent.
  std::string continuation;
  // What is stored about the session that is resumed.
  std::optional<std::string> stored_session;
  wire::SessionUsage usage;
};
SessionPlan plan_session(const SessionRequest& request, base::Random& random);

// The words in which a resumed agent learns the answers of people.
std::string describe_answers(std::string_view decisions);

}  // namespace reeve::adapter
