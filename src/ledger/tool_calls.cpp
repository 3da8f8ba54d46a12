#include "ledger/tool_calls.h"

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "ledger/call_rows.h"
#include "ledger/questions.h"
#include "ledger/standing_grants.h"
#include "ledger/waiting.h"

// A call that is made: decided and stored.
namespace reeve::ledger {

using base::Value;
using model::CallDecision;
using model::RunStatus;
using store::CallRow;
using store::Row;
using store::Sql;

namespace {

constexpr std::int64_t max_waiting = 1'000;
// The table refuses more.
constexpr std::int64_t max_calls = 100'000;

// Grants are read only for a call that a person would have to decide: they change nothing else.
engine::CallVerdict decide(Transaction& transaction, const model::Run& run, const model::Policies& policies,
                           const CallAttempt& attempt) {
  engine::CallVerdict verdict = engine::decide_call(policies, attempt.subject, attempt.digest, {});
  if (verdict.policy != model::Policy::require_approval) return verdict;
  const auto grants = find_standing(transaction, run, attempt.subject.agent, attempt.subject.tool);
  if (grants.empty()) return verdict;
  return engine::decide_call(policies, attempt.subject, attempt.digest, grants);
}

std::optional<CallRow> find_like(Transaction& transaction, Sql statement, base::RunId run, const CallAttempt& attempt) {
  std::optional<CallRow> found;
  transaction.session().query(statement,
                              {{"run", run.number()},
                               {"native_id", attempt.record.native_id},
                               {"digest", attempt.digest},
                               {"attempt", attempt.claim.attempt}},
                              [&](const Row& row) { found = store::read_call(row); });
  return found;
}

// What the same session ran in an earlier attempt: a session that is resumed may repeat it.
std::optional<CallRow> find_ended(Transaction& transaction, base::RunId run, const CallAttempt& attempt) {
  if (attempt.claim.attempt == 1 || !attempt.record.session_id) return std::nullopt;
  std::optional<CallRow> found;
  transaction.session().query(Sql::call_ended,
                              {{"run", run.number()},
                               {"native_id", attempt.record.native_id},
                               {"digest", attempt.digest},
                               {"session", attempt.record.session_id},
                               {"attempt", attempt.claim.attempt}},
                              [&](const Row& row) { found = store::read_call(row); });
  return found;
}

model::Run begin_waiting(Transaction& transaction, const model::Run& run, const CallAttempt& attempt) {
  // The clock already stands still.
  if (run.status == RunStatus::waiting_approval) return run;
  const RunMove move{.to = RunStatus::waiting_approval, .outcome = run.outcome};
  model::Run moved = move_run(transaction, run.tool_run_id, move).value();
  hold_clock(transaction, run.tool_run_id, attempt.claim, attempt.time_left_ms);
  return moved;
}

// The attempt that resumes the run asks again for a call that an earlier one left.
CallStored continue_call(Transaction& transaction, const model::Run& run, CallRow row, const CallAttempt& attempt) {
  model::ToolCall& call = row.call;
  call.attempt = attempt.claim.attempt;
  call.native_id = attempt.record.native_id;
  call.parent_native_id = attempt.record.parent_native_id;
  call.session_id = attempt.record.session_id;
  call.channel = attempt.record.channel;
  call.outcome.reset();
  row.may_defer = attempt.may_defer;
  row.is_hosted = attempt.is_hosted;
  transaction.session().write(Sql::call_continue, {{"attempt", call.attempt},
                                                   {"native_id", call.native_id},
                                                   {"parent_native_id", call.parent_native_id},
                                                   {"session_id", call.session_id},
                                                   {"channel", call.channel},
                                                   {"may_defer", std::int64_t{row.may_defer}},
                                                   {"hosted", std::int64_t{row.is_hosted}},
                                                   {"call", call.call_id.number()}});
  return make_stored(transaction, call.answer ? run : begin_waiting(transaction, run, attempt), row);
}

CallDecision decision_of(model::Policy policy) {
  switch (policy) {
    case model::Policy::auto_approve:
      return CallDecision::allow;
    case model::Policy::deny:
      return CallDecision::deny;
    case model::Policy::require_approval:
      break;
  }
  return CallDecision::ask;
}

[[noreturn]] void refuse_more(const model::Run& run, std::int64_t most, std::string_view of) {
  throw base::Error(base::ErrorCode::call_too_many, fmt::format("{} has {} {}", run.tool_run_id.text(), most, of),
                    "the call was not stored and counts as denied");
}

CallRow make_row(Transaction& transaction, const model::Run& run, const engine::CallVerdict& verdict,
                 const CallAttempt& attempt) {
  CallRow row{.call = attempt.record, .may_defer = attempt.may_defer, .is_hosted = attempt.is_hosted};
  model::ToolCall& call = row.call;
  call.project = run.project;
  call.tool_run_id = run.tool_run_id;
  call.attempt = attempt.claim.attempt;
  if (call.tool.empty()) call.tool = attempt.subject.tool;
  call.arguments_digest = attempt.digest;
  call.decision = decision_of(verdict.policy);
  call.rule = verdict.rule;
  call.reason = verdict.reason.empty() ? std::nullopt : std::optional(verdict.reason);
  call.approval_id.reset();
  call.grant_id.reset();
  call.decided_by.reset();
  call.answer.reset();
  call.asked_at = transaction.now();
  call.answered_at.reset();
  call.outcome.reset();
  if (call.decision == CallDecision::ask) return row;
  call.answer = call.decision;
  call.answered_at = transaction.now();
  if (call.decision == CallDecision::allow) call.grant_id = verdict.grant;
  return row;
}

void record_allowed(Transaction& transaction, const model::Run& run, const model::ToolCall& call) {
  Value data = describe_call(run, call);
  data.set("decision", Value::string(base::spell(CallDecision::allow)));
  data.set("digest", Value::string(call.arguments_digest));
  data.set("grant_id", json::to_value(call.grant_id));
  transaction.record(model::AuditKind::tool_call_decided, "reeve", data);
  if (call.grant_id) use_standing(transaction, *call.grant_id);
}

// APR-1: one approval per call, any number at once (APR-9).
model::Approval ask(Transaction& transaction, const model::Run& run, const CallAttempt& attempt) {
  if (count_waiting_calls(transaction.session(), run) >= max_waiting) {
    refuse_more(run, max_waiting, "calls that wait for a person");
  }
  model::Approval approval = attempt.question;
  approval.kind = model::ApprovalKind::tool_call;
  approval.tool_run_id = run.tool_run_id;
  approval.execution_id = run.execution_id;
  approval.node_id = run.node_id;
  approval.agent_id = run.agent_id;
  if (!approval.tool_name) approval.tool_name = run.tool_name;
  approval.tool_ref = attempt.record.native_id;
  approval.digest = attempt.digest;
  approval.attempt = attempt.claim.attempt;
  approval.delivery = model::Delivery::live;
  approval.secret = false;
  approval.created_at = transaction.now();
  if (approval.options.empty()) approval.options = model::default_options();
  approval.approval_id = open_question(transaction, {.approval = approval});
  return approval;
}

CallStored store_new(Transaction& transaction, const model::Run& run, const engine::CallVerdict& verdict,
                     const CallAttempt& attempt) {
  const std::int64_t calls = transaction.session().query_number(Sql::call_ordinal, {{"run", run.tool_run_id.number()}});
  if (calls >= max_calls) refuse_more(run, max_calls, "calls, which is the most");
  CallStored stored{.run = run, .row = make_row(transaction, run, verdict, attempt)};
  model::ToolCall& call = stored.row.call;
  if (call.decision == CallDecision::ask) {
    stored.asked = ask(transaction, run, attempt);
    stored.approval = stored.asked;
    call.approval_id = stored.asked->approval_id;
  }
  call.call_id = store::insert_call(transaction.session(), stored.row, calls + 1);
  switch (call.decision) {
    case CallDecision::allow:
      record_allowed(transaction, run, call);
      break;
    case CallDecision::deny:
      tell_denial(transaction, run, call, call.reason.value_or("denied by " + call.rule));
      break;
    case CallDecision::ask:
      transaction.tell(model::EventKind::tool_approval_pending, describe_call(run, call),
                       {.execution = run.execution_id});
      stored.run = begin_waiting(transaction, run, attempt);
      break;
  }
  return stored;
}

// One way of running a call excludes the other: both would use its answer.
void check_runner(const CallRow& same, const CallAttempt& attempt) {
  if (same.is_hosted == attempt.is_hosted) return;
  throw base::Error(
      base::ErrorCode::call_not_allowed,
      fmt::format("{} was asked {} `execute`", same.call.call_id.text(), same.is_hosted ? "with" : "without"),
      "ask in the same way, or under another id");
}

}  // namespace

std::optional<CallStored> store_call(Transaction& transaction, base::RunId id, const model::Policies& policies,
                                     const CallAttempt& attempt) {
  const store::RunRow row = lock_run(transaction, id);
  const model::Run& run = row.run;
  if (is_final(run.status) || !is_current(transaction, run, attempt.claim)) return std::nullopt;
  if (const auto same = find_like(transaction, Sql::call_same, id, attempt)) {
    check_runner(*same, attempt);
    return make_stored(transaction, run, *same);
  }
  if (const auto ended = find_ended(transaction, id, attempt)) return make_stored(transaction, run, *ended);
  const engine::CallVerdict verdict = decide(transaction, run, policies, attempt);
  // A person cannot override a deny, nor can an earlier answer.
  auto left = verdict.policy != model::Policy::deny && attempt.claim.attempt > 1
                  ? find_like(transaction, Sql::call_deferred, id, attempt)
                  : std::nullopt;
  if (left) return continue_call(transaction, run, std::move(*left), attempt);
  return store_new(transaction, run, verdict, attempt);
}

}  // namespace reeve::ledger
