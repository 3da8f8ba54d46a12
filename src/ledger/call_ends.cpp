#include <vector>

#include "json/describe.h"
#include "ledger/call_rows.h"
#include "ledger/waiting.h"

// What becomes of calls: the tool host runs them, agents report them, attempts leave them.
namespace reeve::ledger {

using model::CallDecision;
using model::CallOutcome;
using store::Row;
using store::Sql;

namespace {

constexpr const char* left_reason = "the attempt that asked has ended";

struct OpenCall {
  base::CallId id{0};
  int attempt = 1;
  bool is_answered = false;
  std::optional<base::ApprovalId> approval;
};

std::vector<OpenCall> find_open(store::Session& session, base::RunId run) {
  std::vector<OpenCall> found;
  session.query(Sql::calls_open, {{"run", run.number()}}, [&](const Row& row) {
    OpenCall& call = found.emplace_back();
    call.id = base::CallId(row.integer(0));
    call.attempt = static_cast<int>(row.integer(1));
    call.is_answered = !row.is_null(2);
    if (const auto number = row.find_integer(3)) call.approval = base::ApprovalId(*number);
  });
  return found;
}

std::optional<LockedCall> lock_own(Transaction& transaction, base::RunId run, base::CallId id) {
  const auto found = store::find_call(transaction.session(), id);
  if (!found || found->call.tool_run_id != run) return std::nullopt;
  return lock_call(transaction, id);
}

CallStored read_again(Transaction& transaction, const model::Run& run, base::CallId id) {
  return make_stored(transaction, run, store::find_call(transaction.session(), id).value());
}

}  // namespace

CallsLeft leave_calls(Transaction& transaction, const model::Run& run, int attempt, bool is_released) {
  store::Session& session = transaction.session();
  lock_run(transaction, run.tool_run_id);
  session.write_any(Sql::calls_left_lost, {{"run", run.tool_run_id.number()}});
  CallsLeft left;
  for (const OpenCall& call : find_open(session, run.tool_run_id)) {
    // What the attempt did not ask for again is of no use to it or to a later one.
    const bool is_kept = is_released && call.attempt == attempt;
    if (!is_kept) {
      withdraw_row(transaction, call.id, call.approval, left_reason);
      continue;
    }
    ++(call.is_answered ? left.answered : left.waiting);
  }
  if (left.waiting + left.answered > 0) {
    session.write_any(Sql::calls_left_deferred, {{"run", run.tool_run_id.number()}, {"attempt", attempt}});
  }
  return left;
}

CallsLeft count_deferred(store::Session& session, base::RunId run) {
  CallsLeft left;
  session.query(Sql::calls_deferred, {{"run", run.number()}}, [&](const Row& row) {
    left = {.waiting = static_cast<int>(row.integer(0)), .answered = static_cast<int>(row.integer(1))};
  });
  return left;
}

std::vector<base::ApprovalId> find_waiting_calls(store::Session& session, base::RunId run, int attempt) {
  std::vector<base::ApprovalId> found;
  session.query(Sql::calls_waiting_for, {{"run", run.number()}, {"attempt", attempt}},
                [&](const Row& row) { found.emplace_back(row.integer(0)); });
  return found;
}

std::vector<base::RunId> find_released(store::Session& session, const std::string& host, std::int64_t most) {
  std::vector<base::RunId> found;
  session.query(Sql::calls_released, {{"host", host}, {"most", most}},
                [&](const Row& row) { found.emplace_back(row.integer(0)); });
  return found;
}

std::optional<CallStored> report_call(Transaction& transaction, base::RunId run, base::CallId id,
                                      const CallReport& report) {
  const auto locked = lock_own(transaction, run, id);
  if (!locked) return std::nullopt;
  const model::ToolCall& call = locked->row.call;
  const bool was_told = locked->row.taken_attempt.has_value() && call.answer == CallDecision::allow;
  const bool is_allowed = was_told && call.outcome != CallOutcome::denied;
  // Only the tool host knows what became of what it runs; what has an outcome keeps it.
  const bool is_ignored =
      is_allowed ? locked->row.is_hosted || call.outcome.has_value() : call.outcome == CallOutcome::ungated;
  if (is_ignored) return make_stored(transaction, locked->run.run, locked->row);
  model::Run after = locked->run.run;
  CallOutcome outcome = report.failed ? CallOutcome::failed : CallOutcome::ran;
  if (!is_allowed) {
    constexpr const char* reason = "the agent ran the call without being allowed to";
    const bool is_open = !locked->row.taken_attempt && (!call.outcome || call.outcome == CallOutcome::deferred);
    if (is_open) {
      withdraw_row(transaction, id, call.approval_id, reason);
      after = continue_run(transaction, after);
    }
    outcome = CallOutcome::ungated;
    tell_denial(transaction, after, call, reason);
  }
  transaction.session().write(Sql::call_report, {{"outcome", outcome},
                                                 {"digest", report.digest},
                                                 {"bytes", report.bytes},
                                                 {"duration_ms", report.duration_ms},
                                                 {"call", id.number()}});
  return read_again(transaction, after, id);
}

std::optional<CallStored> withdraw_call(Transaction& transaction, base::RunId run, base::CallId id) {
  const auto locked = lock_own(transaction, run, id);
  if (!locked) return std::nullopt;
  // An answer that was handed out counts; a deferred call belongs to the attempt that resumes the run.
  const bool is_open = !locked->row.taken_attempt && !locked->row.call.outcome;
  if (!is_open) return make_stored(transaction, locked->run.run, locked->row);
  withdraw_row(transaction, id, locked->row.call.approval_id, "the agent continued without the call");
  return read_again(transaction, continue_run(transaction, locked->run.run), id);
}

bool begin_hosted(Transaction& transaction, base::CallId id, const AttemptClaim& claim,
                  std::optional<base::RunId> child) {
  const auto locked = lock_call(transaction, id);
  if (!locked) return false;
  const store::CallRow& row = locked->row;
  const bool may_begin = row.is_hosted && row.call.answer == CallDecision::allow &&
                         row.taken_attempt == claim.attempt && !row.begun_at && !row.call.outcome &&
                         !is_final(locked->run.run.status) && is_current(transaction, locked->run.run, claim);
  if (!may_begin) return false;
  const auto number = child ? std::optional(child->number()) : std::nullopt;
  transaction.session().write(
      Sql::call_begin,
      {{"now", transaction.now_text()}, {"child", number}, {"attempt", claim.attempt}, {"call", id.number()}});
  return true;
}

void end_hosted(Transaction& transaction, base::CallId id, bool failed, const std::string& result_json,
                std::int64_t duration_ms) {
  transaction.session().write_any(Sql::call_end_hosted, {{"outcome", failed ? CallOutcome::failed : CallOutcome::ran},
                                                         {"result", result_json},
                                                         {"duration_ms", duration_ms},
                                                         {"call", id.number()}});
}

}  // namespace reeve::ledger
