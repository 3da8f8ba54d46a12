#include "ledger/waiting.h"

#include "ledger/tool_calls.h"

namespace reeve::ledger {

using model::RunStatus;
using store::Row;
using store::Session;
using store::Sql;

namespace {

enum class Granted { counts, is_ignored };
bool has_question(Session& session, const model::Run& run, Granted granted) {
  const int with_granted = granted == Granted::counts ? 1 : 0;
  return session.query(Sql::questions_unsettled_of_run,
                       {{"run", run.tool_run_id.number()}, {"with_granted", with_granted}, {"attempt", run.attempt}},
                       [](const Row&) {}) > 0;
}

}  // namespace

std::int64_t count_waiting_calls(Session& session, const model::Run& run) {
  return session.query_number(Sql::calls_waiting, {{"run", run.tool_run_id.number()}, {"attempt", run.attempt}});
}

bool is_attempt_alive(Session& session, base::RunId run, int attempt) {
  bool is_alive = false;
  session.query(Sql::attempt_load, {{"run", run.number()}, {"attempt", attempt}},
                [&](const Row& row) { is_alive = row.word<model::AttemptState>(0) != model::AttemptState::ended; });
  return is_alive;
}

model::Run continue_run(Transaction& transaction, const model::Run& run) {
  Session& session = transaction.session();
  const bool may_continue = run.status == RunStatus::waiting_approval &&
                            is_attempt_alive(session, run.tool_run_id, run.attempt) &&
                            count_waiting_calls(session, run) == 0 && !has_question(session, run, Granted::is_ignored);
  if (!may_continue) return run;
  return move_run(transaction, run.tool_run_id, {.to = RunStatus::running}).value();
}

bool may_resume_released(Transaction& transaction, const model::Run& run) {
  Session& session = transaction.session();
  if (run.status != RunStatus::waiting_approval) return false;
  if (is_attempt_alive(session, run.tool_run_id, run.attempt)) return false;
  // A granted question resumes the run itself.
  return count_waiting_calls(session, run) == 0 && count_deferred(session, run.tool_run_id).answered > 0 &&
         !has_question(session, run, Granted::counts);
}

}  // namespace reeve::ledger
