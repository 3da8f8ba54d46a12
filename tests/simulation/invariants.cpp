#include "tests/simulation/invariants.h"

#include <stdexcept>

#include <sqlite3.h>

namespace reeve::simulation {

namespace {

constexpr const char* all = R"(
      SELECT 'alive', number, NULL, NULL FROM executions WHERE status IN ('running', 'waiting_approval')
      UNION ALL SELECT 'final', slot, resets, status FROM node_executions
        WHERE status IN ('completed', 'failed', 'skipped', 'cancelled')
      UNION ALL SELECT 'event numbers have gaps', max(seq), NULL, NULL FROM events HAVING COALESCE(max(seq), 0) <> count(*)
        OR COALESCE(max(seq), 0) <> (SELECT value FROM counters WHERE name = 'events')
      UNION ALL SELECT 'running without an attempt or an owner', slot, NULL, NULL FROM node_executions
        WHERE status = 'running' AND (attempt < 1 OR (type <> 'subgraph' AND daemon IS NULL))
      UNION ALL SELECT 'waiting without a question', n.slot, NULL, NULL FROM node_executions n
        LEFT JOIN approvals a ON a.number = n.approval
        WHERE n.status = 'waiting_approval' AND n.type = 'human' AND (a.number IS NULL OR (a.status <> 'pending' AND a.settled = 1))
      UNION ALL SELECT 'a subgraph and its child do not wait together', n.slot, NULL, NULL FROM node_executions n
        JOIN executions c ON c.number = n.child WHERE n.status IN ('running', 'waiting_approval')
        AND (n.status = 'waiting_approval') <> (c.status = 'waiting_approval')
      UNION ALL SELECT 'a question of something that is over', a.number, NULL, NULL FROM approvals a
        JOIN node_executions n ON n.slot = a.execution * 1048576 + a.node
        WHERE a.status = 'pending' AND n.status <> 'waiting_approval'
      UNION ALL SELECT 'counts are wrong', e.number, NULL, NULL FROM executions e
        JOIN (SELECT execution, sum(status = 'ready') r, sum(status = 'running') u, sum(status = 'waiting_approval') w,
          sum(status = 'failed') f FROM node_executions GROUP BY execution) n ON n.execution = e.number
        WHERE e.nodes_ready <> n.r OR e.nodes_running <> n.u OR e.nodes_waiting <> n.w OR e.nodes_failed <> n.f
      UNION ALL SELECT 'more at once than allowed', e.number, NULL, NULL FROM executions e WHERE e.parent IS NULL
        AND (SELECT count(*) FROM node_executions n WHERE n.execution = e.number AND n.status = 'running'
          -- Whose child a person has let go on, whatever runs meanwhile.
          AND n.type <> 'subgraph') > :most)";

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement, column));
  return text != nullptr ? text : "";
}

}  // namespace

Invariants::Invariants(const std::string& memory_name, std::int64_t most_parallel_nodes) {
  const std::string uri = "file:/" + memory_name + "?vfs=memdb";
  const bool is_open =
      ::sqlite3_open_v2(uri.c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) == SQLITE_OK &&
      ::sqlite3_prepare_v2(database_, all, -1, &statement_, nullptr) == SQLITE_OK;
  if (!is_open) throw std::runtime_error(std::string("invariants: ") + ::sqlite3_errmsg(database_));
  ::sqlite3_bind_int64(statement_, 1, most_parallel_nodes);
}

Invariants::~Invariants() {
  ::sqlite3_finalize(statement_);
  ::sqlite3_close(database_);
}

void Invariants::check(Findings& findings) {
  int status = SQLITE_ROW;
  while ((status = ::sqlite3_step(statement_)) == SQLITE_ROW) {
    const std::string what = text_of(statement_, 0);
    if (what == "alive") {
      findings.is_alive = true;
    } else if (what == "final") {
      findings.final(::sqlite3_column_int64(statement_, 1), ::sqlite3_column_int64(statement_, 2),
                     text_of(statement_, 3));
    } else {
      findings.broken(what + ": " + text_of(statement_, 1));
    }
  }
  if (status != SQLITE_DONE) findings.broken(::sqlite3_errmsg(database_));
  ::sqlite3_reset(statement_);
}

}  // namespace reeve::simulation
