#include "ledger/agent_sessions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "ledger/runs.h"
#include "store/agent_sessions.h"

namespace reeve::ledger {

using model::AgentSession;
using store::Row;
using store::Sql;

namespace {

constexpr std::size_t max_sessions = 100;

// Raises a total to what is reported; returns by how much.
std::int64_t raise(std::int64_t& total, std::int64_t reported) {
  const std::int64_t added = std::max<std::int64_t>(reported - total, 0);
  total += added;
  return added;
}

// The totals that are counted already: by this run, and by others that had the same session.
AgentSession find_totals(store::Session& session, const AgentSession& reported, const AgentSession& own) {
  AgentSession totals = own;
  session.query(Sql::agent_session_totals, {{"session_id", reported.session_id}, {"agent", reported.agent}},
                [&](const Row& row) {
                  raise(totals.input_tokens, row.find_integer(0).value_or(0));
                  raise(totals.output_tokens, row.find_integer(1).value_or(0));
                  raise(totals.cached_tokens, row.find_integer(2).value_or(0));
                  const auto micros = std::max(store::to_micros(own.cost_usd), row.find_integer(3));
                  totals.cost_usd = store::from_micros(micros);
                });
  return totals;
}

// Sets the new totals of the session; returns what they add to the usage.
std::optional<model::Usage> count_totals(AgentSession& stored, const AgentSession& before,
                                         const AgentSession& reported) {
  stored.input_tokens = before.input_tokens;
  stored.output_tokens = before.output_tokens;
  stored.cached_tokens = before.cached_tokens;
  model::Usage added{.input_tokens = raise(stored.input_tokens, reported.input_tokens),
                     .output_tokens = raise(stored.output_tokens, reported.output_tokens)};
  raise(stored.cached_tokens, reported.cached_tokens);
  // In whole numbers, so that differences add up to the total.
  const auto micros_before = store::to_micros(before.cost_usd);
  const auto micros_now = store::to_micros(reported.cost_usd);
  std::int64_t micros = micros_before.value_or(0);
  const std::int64_t added_micros = raise(micros, micros_now.value_or(0));
  if (micros_before || micros_now) stored.cost_usd = store::from_micros(micros);
  if (added_micros > 0) added.cost_usd = store::from_micros(added_micros);
  if (reported.context_used) stored.context_used = reported.context_used;
  if (reported.context_size) stored.context_size = reported.context_size;
  return added == model::Usage{} ? std::nullopt : std::optional(added);
}

}  // namespace

SessionNoted note_session(Transaction& transaction, base::RunId run, int attempt, const AgentSession& reported) {
  lock_run(transaction, run);
  const auto known = store::list_sessions(transaction.session(), run);
  const auto found = std::ranges::find(known, reported.session_id, &AgentSession::session_id);
  const bool is_new = found == known.end();
  if (is_new && known.size() >= max_sessions) {
    throw base::Error(base::ErrorCode::call_too_many,
                      fmt::format("{} has reported {} sessions, which is the most", run.text(), max_sessions));
  }
  SessionNoted noted{.session = is_new ? reported : *found, .added = {}};
  AgentSession& stored = noted.session;
  stored.tool_run_id = run;
  stored.agent = reported.agent;
  if (reported.version) stored.version = reported.version;
  if (reported.model) stored.model = reported.model;
  if (is_new) {
    stored.first_attempt = attempt;
    stored.started_at = transaction.now();
  }
  stored.last_attempt = attempt;
  stored.last_seen_at = transaction.now();
  const AgentSession before = find_totals(transaction.session(), reported, is_new ? AgentSession{} : *found);
  noted.added = count_totals(stored, before, reported);
  transaction.session().write(is_new ? Sql::agent_session_insert : Sql::agent_session_seen,
                              {{"run", run.number()},
                               {"session_id", stored.session_id},
                               {"agent", stored.agent},
                               {"version", stored.version},
                               {"model", stored.model},
                               {"attempt", attempt},
                               {"now", transaction.now_text()},
                               {"input_tokens", stored.input_tokens},
                               {"output_tokens", stored.output_tokens},
                               {"cached_tokens", stored.cached_tokens},
                               {"cost_micros", store::to_micros(stored.cost_usd)},
                               {"context_used", stored.context_used},
                               {"context_size", stored.context_size}});
  if (noted.added) add_run_usage(transaction, run, *noted.added);
  return noted;
}

std::vector<AgentSession> find_sessions(store::Session& session, base::RunId run) {
  return store::list_sessions(session, run);
}

}  // namespace reeve::ledger
