#include "ledger/agent_sessions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "ledger/runs.h"
#include "store/tool_calls.h"

namespace reeve::ledger {

using store::Sql;

namespace {

constexpr std::size_t max_sessions = 100;

}  // namespace

model::AgentSession note_session(Transaction& transaction, base::RunId run, int attempt,
                                 const model::AgentSession& reported) {
  lock_run(transaction, run);
  const auto known = store::list_sessions(transaction.session(), run);
  const auto found = std::ranges::find(known, reported.session_id, &model::AgentSession::session_id);
  const bool is_new = found == known.end();
  if (is_new && known.size() >= max_sessions) {
    throw base::Error(base::ErrorCode::call_too_many,
                      fmt::format("{} has reported {} sessions, which is the most", run.text(), max_sessions));
  }
  transaction.session().write(is_new ? Sql::agent_session_insert : Sql::agent_session_seen,
                              {{"run", run.number()},
                               {"session_id", reported.session_id},
                               {"agent", reported.agent},
                               {"version", reported.version},
                               {"model", reported.model},
                               {"attempt", attempt},
                               {"now", transaction.now_text()}});
  model::AgentSession stored = is_new ? reported : *found;
  stored.agent = reported.agent;
  if (reported.version) stored.version = reported.version;
  if (reported.model) stored.model = reported.model;
  if (is_new) {
    stored.first_attempt = attempt;
    stored.started_at = transaction.now();
  }
  stored.last_attempt = attempt;
  stored.last_seen_at = transaction.now();
  return stored;
}

std::vector<model::AgentSession> find_sessions(store::Session& session, base::RunId run) {
  return store::list_sessions(session, run);
}

}  // namespace reeve::ledger
