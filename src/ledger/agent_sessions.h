#pragma once

#include <vector>

#include "ledger/unit.h"
#include "model/agent_session.h"

// Sessions of agents, as they report them on their run's socket (AGT-4).
namespace reeve::ledger {

// Stores a session that an attempt reports, or that it was seen again. Attempts and times of the given record are
// ignored. Throws `call.too_many` for more than 100 sessions of a run, `run.not_found`.
model::AgentSession note_session(Transaction& transaction, base::RunId run, int attempt,
                                 const model::AgentSession& reported);
// The oldest first.
std::vector<model::AgentSession> find_sessions(store::Session& session, base::RunId run);

}  // namespace reeve::ledger
