#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/agent_session.h"

// Requests about sessions of agents.
namespace reeve::client {

struct SessionRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::AgentSession session;
};

struct SessionSelection {
  std::optional<base::RunId> run = {};
  // The path of the only project to list; not combined with `run`.
  std::optional<std::string> project = {};
};
// Newest first.
std::vector<SessionRecord> list_sessions(Daemon& daemon, const SessionSelection& selection, std::size_t limit);

}  // namespace reeve::client
