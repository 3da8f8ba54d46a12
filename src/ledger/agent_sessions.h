#pragma once

#include <optional>
#include <vector>

#include "ledger/unit.h"
#include "model/agent_session.h"
#include "model/run.h"

// Sessions of agents, as they report them on their run's socket (AGT-4).
namespace reeve::ledger {

struct SessionNoted {
  model::AgentSession session;
  // What the report adds to the run's usage, which is stored already; nothing if it adds nothing.
  std::optional<model::Usage> added;
};

// Stores a session that an attempt reports, or that it was seen again. Its totals never decrease, and what no run has
// counted yet is added to the run's usage: a repeated or late report counts once, and a run that continues the session
// of another counts its own part. Attempts and times of the given record are ignored. Throws `call.too_many` for more
// than 100 sessions of a run, `run.not_found`.
SessionNoted note_session(Transaction& transaction, base::RunId run, int attempt, const model::AgentSession& reported);
// The oldest first.
std::vector<model::AgentSession> find_sessions(store::Session& session, base::RunId run);

}  // namespace reeve::ledger
