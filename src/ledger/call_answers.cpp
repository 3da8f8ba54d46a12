#include <fmt/format.h>

#include "ledger/call_rows.h"
#include "ledger/questions.h"
#include "ledger/run_questions.h"
#include "ledger/waiting.h"

// The answer of a call: a person's decision, and handing it out.
namespace reeve::ledger {

using model::ApprovalStatus;
using model::CallDecision;
using model::CallOutcome;
using store::Row;
using store::Sql;

namespace {

using Kind = RunConsequence::Kind;

// APR-7, APR-10: uses the approval of the call for this attempt, which may be a later one than the one that asked.
// Returns why it cannot be used.
std::optional<std::string> use_approval(Transaction& transaction, const model::ToolCall& call, int attempt) {
  const auto asked = lock_question(transaction, *call.approval_id);
  if (!asked || !asked->is_settled) return "its approval is not settled";
  const model::Approval& approval = asked->approval;
  const auto used = engine::use(approval, {.run = call.tool_run_id,
                                           .node_id = approval.node_id,
                                           .attempt = approval.attempt,
                                           .digest = call.arguments_digest});
  if (std::holds_alternative<engine::GrantRefusal>(used)) return "its approval was used before, or is void";
  if (const auto* voided = std::get_if<engine::Voided>(&used)) {
    write_use(transaction, approval, model::ApprovalUse::void_, attempt, voided->reason);
    return "the call is not the one that was approved";
  }
  write_use(transaction, approval, model::ApprovalUse::used, attempt);
  return std::nullopt;
}

// What a caller is told that may not have the answer. Nothing is stored.
CallStored refuse(CallStored stored, std::string why) {
  stored.row.call.answer = CallDecision::deny;
  stored.row.call.reason = std::move(why);
  return stored;
}

// What an agent has run needs no further yes; the tool host returns its result to the attempt that asked.
bool has_run(const store::CallRow& row, int attempt) {
  const bool is_ended = row.call.outcome == CallOutcome::ran || row.call.outcome == CallOutcome::failed;
  return is_ended && !(row.is_hosted && row.call.attempt == attempt);
}

bool is_over(const model::ToolCall& call) {
  return call.outcome == CallOutcome::lost || call.outcome == CallOutcome::withdrawn ||
         call.outcome == CallOutcome::ungated || call.outcome == CallOutcome::deferred;
}

}  // namespace

std::optional<CallStored> take_answer(Transaction& transaction, base::CallId id, int attempt) {
  const auto locked = lock_call(transaction, id);
  if (!locked) return std::nullopt;
  CallStored stored = make_stored(transaction, locked->run.run, locked->row);
  model::ToolCall& call = stored.row.call;
  if (has_run(stored.row, attempt)) {
    return refuse(std::move(stored), fmt::format("this call is already over: {} {}; another call needs its own id",
                                                 call.call_id.text(), base::spell(*call.outcome)));
  }
  if (call.attempt != attempt || stored.run.attempt != attempt || is_final(stored.run.status)) {
    return refuse(std::move(stored), "the attempt that asked has ended");
  }
  if (!call.answer) return stored;
  if (is_over(call)) return refuse(std::move(stored), call.reason.value_or("the call is over"));
  if (stored.row.taken_attempt) {
    if (stored.row.taken_attempt == attempt) return stored;
    return refuse(std::move(stored), "its answer was given to another attempt");
  }
  std::optional<std::string> fault;
  if (call.answer == CallDecision::allow && call.approval_id) fault = use_approval(transaction, call, attempt);
  const bool is_denied = fault || call.answer != CallDecision::allow;
  if (is_denied) call.outcome = CallOutcome::denied;
  stored.row.taken_attempt = attempt;
  transaction.session().write(
      Sql::call_take, {{"attempt", attempt}, {"outcome", call.outcome}, {"reason", fault}, {"call", id.number()}});
  if (fault) return refuse(std::move(stored), *fault);
  if (stored.approval && !is_denied) stored.approval->use = model::ApprovalUse::used;
  return stored;
}

std::optional<RunConsequence> follow_call_answer(Transaction& transaction, const store::ApprovalRow& row,
                                                 const Closing& closing) {
  std::optional<base::CallId> id;
  transaction.session().query(Sql::call_of_approval, {{"approval", row.approval.approval_id.number()}},
                              [&](const Row& found) { id = base::CallId(found.integer(0)); });
  const auto locked = id ? lock_call(transaction, *id) : std::nullopt;
  if (!locked) return std::nullopt;
  const model::ToolCall& call = locked->row.call;
  const bool waits = !call.answer && (!call.outcome || call.outcome == CallOutcome::deferred);
  if (!waits) return std::nullopt;
  RunConsequence consequence{
      .kind = Kind::go_on,
      .run = locked->run.run,
      .approval = make_closed(row, closing, transaction.now()),
      .prompt = {},
  };
  // Silence denies (TOOL-9).
  const bool is_allowed = closing.status == ApprovalStatus::approved;
  const auto reason = is_allowed ? std::nullopt : std::optional(describe_denial(consequence.approval));
  transaction.session().write(Sql::call_answer, {{"answer", is_allowed ? CallDecision::allow : CallDecision::deny},
                                                 {"now", transaction.now_text()},
                                                 {"decided_by", closing.decided_by},
                                                 {"reason", reason},
                                                 {"call", id->number()}});
  const model::Run& run = locked->run.run;
  if (call.attempt != run.attempt || is_final(run.status)) return std::nullopt;
  if (is_attempt_alive(transaction.session(), run.tool_run_id, run.attempt)) {
    consequence.run = continue_run(transaction, run);
    return consequence;
  }
  if (!may_resume_released(transaction, run)) return std::nullopt;
  consequence.kind = Kind::resume_released;
  return consequence;
}

}  // namespace reeve::ledger
