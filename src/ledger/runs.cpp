#include "ledger/runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "ledger/approvals.h"
#include "ledger/run_questions.h"
#include "ledger/tool_calls.h"
#include "ledger/waiting.h"
#include "store/runs.h"
#include "store/stored_project.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using model::RunStatus;
using store::Row;
using store::Sql;

namespace {

void tell_run(Transaction& transaction, const model::Run& run) {
  Value data = Value::object();
  data.set("tool", Value::string(run.tool_name));
  data.set("tool_run_id", Value::string(run.tool_run_id.text()));
  data.set("execution_id", json::to_value(run.execution_id));
  data.set("status", Value::string(base::spell(run.status)));
  data.set("reason", json::to_value(run.reason));
  data.set("exit_code", json::to_value(run.exit_code));
  data.set("project", json::to_value(store::path_of(run.project)));
  if (run.paused_at) data.set("paused_at", json::to_value(run.paused_at));
  EventFacts facts{.status = run.status, .execution = run.execution_id};
  const bool has_failed = is_final(run.status) && run.status != RunStatus::completed;
  if (has_failed && run.last_error) data.set("last_error", Value::string(*run.last_error));
  if (is_final(run.status) && run.duration_ms) {
    data.set("duration_ms", Value::integer(*run.duration_ms));
    facts.duration = base::Milliseconds(*run.duration_ms);
  }
  transaction.tell(model::EventKind::tool_status_change, data, facts);
}

// Clocks may be adjusted: never before its start, and never in the future.
base::WallTime end_of(Transaction& transaction, const model::Run& run, const RunMove& move) {
  const base::WallTime now = transaction.now();
  if (move.ended_ago <= base::Milliseconds(0)) return now;
  return std::min(now, std::max(now - move.ended_ago, run.started_at.value_or(now)));
}

void write_move(Transaction& transaction, store::RunRow& row, const RunMove& move, int attempt) {
  model::Run& run = row.run;
  const bool is_left = run.status == RunStatus::waiting_approval && move.to == run.status && move.ends_attempt;
  const bool may_move = is_left || (can_move(run.status, move.to) &&
                                    (move.to != RunStatus::queued || move.outcome == model::Outcome::limited));
  if (!may_move) {
    throw base::Error(ErrorCode::run_illegal_move, fmt::format("{} is {} and cannot become {}", run.tool_run_id.text(),
                                                               base::spell(run.status), base::spell(move.to)));
  }
  const RunStatus from = run.status;
  // A process exit is not a status change: the run keeps waiting, unless there is a reason to record.
  const bool is_news = from != move.to || move.reason;
  run.status = move.to;
  run.reason = move.reason;
  run.outcome = move.outcome;
  run.exit_code = move.exit_code;
  run.attempt = attempt;
  if (move.last_error) run.last_error = move.last_error;
  if (move.to == RunStatus::running && !run.started_at) run.started_at = transaction.now();
  // Without a process there is nothing to hold.
  if (is_final(move.to) || move.to == RunStatus::queued || move.ends_attempt) run.paused_at.reset();
  if (is_final(move.to)) {
    run.completed_at = end_of(transaction, run, move);
    if (run.started_at) run.duration_ms = (*run.completed_at - *run.started_at).count();
  }
  const auto text = [](const std::optional<base::WallTime>& time) {
    return time ? std::optional(base::format_time(*time)) : std::nullopt;
  };
  transaction.session().write(Sql::run_move, {{"status", move.to},
                                              {"reason", run.reason},
                                              {"outcome", run.outcome},
                                              {"exit_code", run.exit_code},
                                              {"attempt", run.attempt},
                                              {"started_at", text(run.started_at)},
                                              {"completed_at", text(run.completed_at)},
                                              {"duration_ms", run.duration_ms},
                                              {"last_error", run.last_error},
                                              {"not_before", text(move.not_before)},
                                              {"paused_at", text(run.paused_at)},
                                              {"run", run.tool_run_id.number()},
                                              {"version", row.version},
                                              {"from", from}});
  if (is_news) tell_run(transaction, run);
  const bool waits = move.to == RunStatus::waiting_approval;
  const bool has_changed = waits != (from == RunStatus::waiting_approval);
  if (has_changed && run.execution_id && run.node_id) {
    transaction.propagate_wait({*run.execution_id, *run.node_id, run.tool_run_id, waits});
  }
}

void end_attempt(Transaction& transaction, const model::Run& run, int attempt, const RunMove& move) {
  transaction.session().write_any(Sql::attempt_end, {{"exit_code", move.exit_code},
                                                     {"signal", move.signal},
                                                     {"exec_errno", move.exec_errno},
                                                     {"now", base::format_time(end_of(transaction, run, move))},
                                                     {"run", run.tool_run_id.number()},
                                                     {"attempt", attempt}});
}

void close_questions(Transaction& transaction, const model::Run& run, int attempt, const std::string& reason) {
  leave_calls(transaction, run, attempt, false);
  std::vector<base::ApprovalId> open;
  transaction.session().query(Sql::approvals_of_run, {{"run", run.tool_run_id.number()}},
                              [&](const Row& row) { open.emplace_back(row.integer(0)); });
  for (const base::ApprovalId id : open) {
    const auto asked = lock_question(transaction, id);
    if (asked) close_question(transaction, *asked, {.reason = reason});
  }
  void_grants(transaction, run.tool_run_id, reason);
}

void insert_attempt(Transaction& transaction, base::RunId id, int attempt, const AttemptStart& start) {
  const std::optional<std::int64_t> grant = start.grant ? std::optional(start.grant->number()) : std::nullopt;
  const std::optional<std::int64_t> daemon = start.daemon != 0 ? std::optional(start.daemon) : std::nullopt;
  transaction.session().write(Sql::attempt_insert, {{"run", id.number()},
                                                    {"attempt", attempt},
                                                    {"state", model::AttemptState::spawned},
                                                    {"daemon", daemon},
                                                    {"epoch", start.epoch},
                                                    {"host", start.keeper.host},
                                                    {"boot_id", start.keeper.boot_id},
                                                    {"keeper_pid", start.keeper.pid},
                                                    {"keeper_started", start.keeper.started},
                                                    {"nonce", start.nonce},
                                                    {"approval", grant},
                                                    {"deadline_ms", start.deadline_ms},
                                                    {"now", transaction.now_text()}});
}

// The status stays the same: its event is sent again with the reason.
void write_pause(Transaction& transaction, store::RunRow& row, bool is_paused, const std::string& reason) {
  row.run.paused_at = is_paused ? std::optional(transaction.now()) : std::nullopt;
  const auto text = row.run.paused_at ? std::optional(base::format_time(*row.run.paused_at)) : std::nullopt;
  transaction.session().write(Sql::run_pause,
                              {{"paused_at", text}, {"run", row.run.tool_run_id.number()}, {"version", row.version}});
  tell_reason(transaction, row.run, reason);
}

std::string describe_pause(const RunPausing& pausing) {
  return fmt::format("{} by {}", pausing.is_paused ? "paused" : "resumed", pausing.by);
}

}  // namespace

store::RunRow lock_run(Transaction& transaction, base::RunId id) {
  std::optional<store::RunRow> found;
  transaction.session().query(Sql::run_lock, {{"run", id.number()}},
                              [&](const Row& row) { found = store::read_run(row); });
  if (found) return *found;
  if (store::find_run(transaction.session(), id)) throw AggregateBusy{};
  throw base::Error(ErrorCode::run_not_found, fmt::format("there is no run {}", id.text()),
                    "`reeve runs` lists all runs");
}

bool is_current(Transaction& transaction, const model::Run& run, const AttemptClaim& claim) {
  if (run.attempt != claim.attempt) return false;
  bool is_theirs = false;
  transaction.session().query(Sql::attempt_load, {{"run", run.tool_run_id.number()}, {"attempt", claim.attempt}},
                              [&](const Row& row) {
                                const bool is_alive = row.word<model::AttemptState>(0) != model::AttemptState::ended;
                                is_theirs = is_alive && row.integer(1) == claim.epoch;
                              });
  return is_theirs;
}

base::RunId create_run(Transaction& transaction, const model::Run& run, const std::optional<std::string>& launch) {
  model::Run created = run;
  created.status = RunStatus::queued;
  created.tool_run_id = store::insert_run(transaction.session(), run, transaction.now_text(), launch);
  tell_run(transaction, created);
  return created.tool_run_id;
}

base::RunId enqueue_run(Transaction& transaction, const model::Run& run, const QueuePlace& place,
                        const std::optional<std::string>& launch) {
  model::Run created = run;
  created.reason = "waits for its turn";
  created.tool_run_id = create_run(transaction, created, launch);
  transaction.session().write(Sql::run_enqueue, {{"host", place.host},
                                                 {"nonce", place.nonce},
                                                 {"priority", place.priority},
                                                 {"reason", created.reason},
                                                 {"run", created.tool_run_id.number()}});
  return created.tool_run_id;
}

std::vector<QueuedRun> find_queued_runs(Transaction& transaction, const std::string& host) {
  std::vector<QueuedRun> found;
  transaction.session().query(Sql::runs_in_queue, {{"host", host}}, [&](const Row& row) {
    found.push_back({.run = base::RunId(row.integer(0)),
                     .status = row.word<RunStatus>(1),
                     .priority = static_cast<int>(row.integer(2)),
                     .nonce = row.find_text(3).value_or("")});
  });
  return found;
}

std::optional<model::Run> move_run(Transaction& transaction, base::RunId id, const RunMove& move,
                                   const std::optional<AttemptClaim>& claim) {
  store::RunRow row = lock_run(transaction, id);
  if (claim && !is_current(transaction, row.run, *claim)) return std::nullopt;
  if (move.only_from && row.run.status != *move.only_from) return std::nullopt;
  write_move(transaction, row, move, row.run.attempt);
  const bool is_over = is_final(move.to);
  if (is_over || move.to == RunStatus::queued || move.ends_attempt) {
    end_attempt(transaction, row.run, row.run.attempt, move);
  }
  if (is_over) close_questions(transaction, row.run, row.run.attempt, "the run that asked has ended");
  // A run that goes back to the queue has no process that could receive an answer.
  if (move.to == RunStatus::queued) leave_calls(transaction, row.run, row.run.attempt, false);
  return row.run;
}

bool warn_of_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim, const std::string& reason) {
  const auto row = store::find_run(transaction.session(), id);
  if (!row || !is_current(transaction, row->run, claim)) return false;
  tell_reason(transaction, row->run, reason);
  return true;
}

void tell_reason(Transaction& transaction, const model::Run& run, const std::string& reason) {
  model::Run told = run;
  told.reason = reason;
  tell_run(transaction, told);
}

std::optional<model::Run> pause_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                                    const RunPausing& pausing) {
  store::RunRow row = lock_run(transaction, id);
  if (!is_current(transaction, row.run, claim)) return std::nullopt;
  const bool is_stored = row.run.paused_at.has_value() == pausing.is_paused;
  if (!is_stored && pausing.by.empty()) return std::nullopt;
  if (pausing.is_paused) hold_clock(transaction, id, claim, pausing.time_left_ms);
  if (!is_stored) write_pause(transaction, row, pausing.is_paused, describe_pause(pausing));
  return row.run;
}

void pause_run_elsewhere(Transaction& transaction, base::RunId id, const RunPausing& pausing) {
  store::RunRow row = lock_run(transaction, id);
  if (is_final(row.run.status) || row.run.paused_at.has_value() == pausing.is_paused) return;
  write_pause(transaction, row, pausing.is_paused, describe_pause(pausing));
}

std::optional<model::Run> refuse_pause(Transaction& transaction, base::RunId id, const AttemptClaim& claim) {
  store::RunRow row = lock_run(transaction, id);
  if (!is_current(transaction, row.run, claim) || !row.run.paused_at) return std::nullopt;
  write_pause(transaction, row, false, "cannot be paused and continues: started by an older version of Reeve");
  return row.run;
}

std::vector<base::RunId> find_paused_runs(Transaction& transaction, std::int64_t daemon) {
  std::vector<base::RunId> found;
  transaction.session().query(Sql::runs_paused, {{"daemon", daemon}},
                              [&](const Row& row) { found.emplace_back(row.integer(0)); });
  return found;
}

void hold_clock(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                const std::optional<std::int64_t>& time_left_ms) {
  transaction.session().write_any(Sql::attempt_hold,
                                  {{"time_left_ms", time_left_ms}, {"run", id.number()}, {"attempt", claim.attempt}});
}

std::optional<model::Run> limit_run(Transaction& transaction, base::RunId id, const AttemptClaim& claim,
                                    const RunLimiting& limiting) {
  const store::RunRow row = lock_run(transaction, id);
  if (!is_current(transaction, row.run, claim)) return std::nullopt;
  transaction.session().write(Sql::attempt_limit, {{"deadline_ms", limiting.deadline_ms},
                                                   {"time_left_ms", limiting.time_left_ms},
                                                   {"run", id.number()},
                                                   {"attempt", claim.attempt}});
  tell_reason(transaction, row.run, limiting.reason);
  return row.run;
}

AttemptResult begin_attempt(Transaction& transaction, base::RunId id, const AttemptStart& start) {
  store::RunRow row = lock_run(transaction, id);
  // A run that waited for a usage limit is also queued, but has had attempts (RUN-18).
  const bool is_first = !row.run.started_at;
  const int attempt = is_first ? row.run.attempt : row.run.attempt + 1;
  REEVE_ASSERT(!(start.grant && start.resumes_released));
  if (start.resumes_released && !may_resume_released(transaction, row.run)) {
    return {{}, {}, engine::GrantRefusal::not_granted};
  }
  if (start.grant) {
    // A grant belongs to the attempt that asked.
    const auto used =
        use_grant(transaction, *start.grant,
                  {.run = id, .node_id = row.run.node_id, .attempt = row.run.attempt, .digest = start.digest});
    if (const auto* refusal = std::get_if<engine::GrantRefusal>(&used)) return {{}, {}, *refusal};
    if (const auto* voided = std::get_if<engine::Voided>(&used)) return {{}, voided->reason, {}};
  }
  // Created, but not started before the execution continues.
  const bool is_held =
      row.run.execution_id &&
      transaction.session().query_number(Sql::execution_paused, {{"execution", row.run.execution_id->number()}}) > 0;
  if (is_held) row.run.paused_at = transaction.now();
  write_move(transaction, row, {.to = RunStatus::running}, attempt);
  insert_attempt(transaction, id, attempt, start);
  return {attempt, {}, {}};
}

std::optional<int> rerun_attempt(Transaction& transaction, base::RunId id, const AttemptClaim& lost,
                                 const AttemptStart& start) {
  store::RunRow row = lock_run(transaction, id);
  if (!is_current(transaction, row.run, lost)) return std::nullopt;
  end_attempt(transaction, row.run, lost.attempt, {});
  // Its open questions are closed: the new attempt asks again.
  close_questions(transaction, row.run, lost.attempt, "the attempt that asked was lost");
  const int attempt = lost.attempt + 1;
  if (row.run.status == RunStatus::running) {
    // RUN-2 has no transition from a status to itself: only the attempt number changes.
    transaction.session().write(Sql::run_attempt, {{"attempt", attempt}, {"run", id.number()}});
  } else {
    write_move(transaction, row, {.to = RunStatus::running}, attempt);
  }
  insert_attempt(transaction, id, attempt, start);
  return attempt;
}

}  // namespace reeve::ledger
