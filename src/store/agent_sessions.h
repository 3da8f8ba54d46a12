#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/agent_session.h"
#include "store/session.h"

// Sessions of agents in the store (AGT-4).
namespace reeve::store {

// The cost is stored in millionths of a dollar.
std::optional<std::int64_t> to_micros(const std::optional<double>& usd);
std::optional<double> from_micros(const std::optional<std::int64_t>& micros);

// The place of a session in listings.
struct SessionNumber {
  std::int64_t number = 0;
  std::string text() const { return std::to_string(number); }
  static std::optional<SessionNumber> parse(std::string_view text) noexcept;
};

struct SessionRow {
  SessionNumber number;
  model::AgentSession session;
};

// The oldest first.
std::vector<model::AgentSession> list_sessions(Session& session, base::RunId run);
// The session that the run reported last.
std::optional<model::AgentSession> find_last_session(Session& session, base::RunId run);

struct SessionFilter {
  std::optional<base::RunId> run = {};
  // The path of a project; not combined with `run`.
  std::optional<std::string> project = {};
  // Only sessions that began before this one.
  std::optional<SessionNumber> before = {};
  std::int64_t most = 50;
};
// Newest first.
std::vector<SessionRow> list_all_sessions(Session& session, const SessionFilter& filter);

}  // namespace reeve::store
