#include "ledger/approvals.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "ledger/run_questions.h"
#include "store/runs.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using model::Approval;
using model::ApprovalStatus;
using store::ApprovalRow;
using store::Row;
using store::Sql;

namespace {

// GRF-12, APR-5: the run or node that asked resumes. A node that has moved on, or asks again, is not affected.
void go_on(Transaction& transaction, Executions& executions, const WorkerCapacity& worker, const ApprovalRow& row,
           const Closing& closing, StepResult& result) {
  const bool is_for_caller = row.approval.asked_by && closing.status == ApprovalStatus::approved;
  // The caller reads the answer as often as it wants; nothing else can use it.
  if (is_for_caller && row.approval.use == model::ApprovalUse::unused) {
    write_use(transaction, row.approval, model::ApprovalUse::used, row.approval.attempt);
  }
  if (auto consequence = follow_answer(transaction, row, closing)) result.runs.push_back(std::move(*consequence));
  const bool may_apply = row.approval.delivery == model::Delivery::apply && closing.status == ApprovalStatus::approved;
  if (may_apply && row.approval.execution_id) result.applies.push_back(*row.approval.execution_id);
  if (row.approval.kind != model::ApprovalKind::human || !row.node || !row.approval.execution_id) return;
  const bool is_approved = closing.status == ApprovalStatus::approved;
  Value outputs = Value::object();
  outputs.set("approved", Value::boolean(is_approved));
  outputs.set("chosen_value", json::to_value(closing.chosen_value));
  outputs.set("comment", json::to_value(closing.comment));
  outputs.set("decided_by", json::to_value(closing.decided_by));
  const bool is_expired = closing.status == ApprovalStatus::expired;
  const engine::NodeFinished finished{static_cast<graph::NodeIndex>(*row.node), std::move(outputs), is_approved,
                                      is_expired ? "its approval expired" : ""};
  executions.answer(transaction, *row.approval.execution_id, row.approval.approval_id, finished, worker, result);
}

std::vector<base::ApprovalId> read_ids(store::Session& session, Sql statement,
                                       std::initializer_list<store::Param> params) {
  std::vector<base::ApprovalId> ids;
  session.query(statement, params, [&](const Row& row) { ids.emplace_back(row.integer(0)); });
  return ids;
}

void refuse(Transaction& transaction, const Approval& approval, const engine::Answer& answer, std::string_view why) {
  Value data = Value::object();
  data.set("approval_id", Value::string(approval.approval_id.text()));
  data.set("reason", Value::string(why));
  data.set("status", Value::string(base::spell(approval.status)));
  transaction.record(model::AuditKind::decision_refused, answer.decided_by, data);
}

std::string_view words_of(engine::Refusal refusal) {
  switch (refusal) {
    case engine::Refusal::already_resolved:
      return "it was already resolved";
    case engine::Refusal::expired:
      return "it has expired";
    case engine::Refusal::unknown_choice:
      return "the choice is not one of the options";
    case engine::Refusal::choice_needed:
      return "a choice is needed";
    case engine::Refusal::contradiction:
      return "the choice contradicts the decision";
    case engine::Refusal::text_needed:
      return "a text is needed";
    case engine::Refusal::takes_no_text:
      return "it takes no text";
  }
  return "";
}

// Why a direct update is invalid, if it is: the status must follow from the chosen option (APR-3).
std::optional<std::string> find_fault(const Approval& approval, base::WallTime now) {
  if (approval.status == ApprovalStatus::expired) return std::nullopt;
  // APR-4: compared with the time that the update claims.
  if (approval.expires_at && *approval.expires_at <= approval.decided_at.value_or(now)) return "it came too late";
  const bool wants_yes = approval.status == ApprovalStatus::approved;
  if (approval.secret && wants_yes) return "a secret cannot be given by a database update";
  const bool chooses_text = approval.chosen_value.value_or(std::string(model::text_option)) == model::text_option;
  if (wants_yes && takes_text(approval) && chooses_text && !approval.answer) {
    return "the question asks for text, and the column `answer` has none";
  }
  if (!approval.chosen_value) {
    const bool is_plain = !wants_yes || std::ranges::count_if(approval.options, model::approves) == 1;
    return is_plain ? std::nullopt
                    : std::optional<std::string>("several options approve, or none, and no value was chosen");
  }
  const auto option = std::ranges::find(approval.options, *approval.chosen_value, &model::ApprovalOption::value);
  if (option == approval.options.end()) return "the chosen value is not one of the options";
  if (approves(*option) != wants_yes) return "the status contradicts the chosen value";
  return std::nullopt;
}

// Whether a node or run still waits for the answer.
bool is_awaited(Transaction& transaction, const ApprovalRow& row) {
  const Approval& approval = row.approval;
  if (row.node && approval.execution_id) {
    const std::int64_t slot = slot_of(approval.execution_id->number(), static_cast<graph::NodeIndex>(*row.node));
    return transaction.session().query(Sql::approval_awaited,
                                       {{"slot", slot}, {"approval", approval.approval_id.number()}},
                                       [](const Row&) {}) > 0;
  }
  if (!approval.tool_run_id) return true;
  const auto run = store::find_run(transaction.session(), *approval.tool_run_id);
  return run && !is_final(run->run.status);
}

}  // namespace

DecisionResult decide_approval(Transaction& transaction, Executions& executions, const WorkerCapacity& worker,
                               base::ApprovalId id, const engine::Answer& answer) {
  DecisionResult result;
  const auto row = lock_question(transaction, id);
  if (!row) return result;
  // A decision made outside counts even if it is not settled yet: the first one wins.
  result.approval = row->approval;
  const auto decided = engine::decide(row->approval, answer, transaction.now());
  if (const auto* refusal = std::get_if<engine::Refusal>(&decided)) {
    result.refusal = *refusal;
    refuse(transaction, row->approval, answer, words_of(*refusal));
    return result;
  }
  const auto& choice = std::get<engine::Decided>(decided);
  const Closing closing{.status = choice.status,
                        .chosen_value = choice.chosen_value,
                        .answer = answer.text,
                        .comment = answer.comment,
                        .decided_by = answer.decided_by,
                        .actor = answer.decided_by,
                        .reason = std::nullopt,
                        .note = answer.note};
  close_question(transaction, *row, closing);
  go_on(transaction, executions, worker, *row, closing, result.step);
  result.approval->status = closing.status;
  result.approval->chosen_value = closing.chosen_value;
  result.approval->answer = closing.answer;
  result.approval->comment = closing.comment;
  result.approval->decided_by = closing.decided_by;
  result.approval->decided_at = transaction.now();
  const bool is_used = row->approval.asked_by && closing.status == ApprovalStatus::approved;
  if (is_used) result.approval->use = model::ApprovalUse::used;
  return result;
}

std::vector<base::ApprovalId> find_overdue(store::Session& session, base::WallTime now, std::int64_t most) {
  return read_ids(session, Sql::approvals_overdue, {{"now", base::format_time(now)}, {"most", most}});
}

std::optional<Approval> expire_approval(Transaction& transaction, Executions& executions, const WorkerCapacity& worker,
                                        base::ApprovalId id, StepResult& result) {
  const auto row = lock_question(transaction, id);
  if (!row || !engine::is_overdue(row->approval, transaction.now())) return std::nullopt;
  const Closing closing{.reason = "no answer arrived in time"};
  close_question(transaction, *row, closing);
  go_on(transaction, executions, worker, *row, closing, result);
  Approval expired = row->approval;
  expired.status = ApprovalStatus::expired;
  expired.decided_at = transaction.now();
  return expired;
}

std::vector<base::ApprovalId> find_outside(store::Session& session, std::int64_t most) {
  return read_ids(session, Sql::approvals_outside, {{"most", most}});
}

OutsideResult settle_outside(Transaction& transaction, Executions& executions, const WorkerCapacity& worker,
                             base::ApprovalId id) {
  constexpr const char* outside = "outside";
  const auto row = lock_question(transaction, id);
  if (!row || row->is_settled || row->approval.status == ApprovalStatus::pending) return {};
  OutsideResult result{.approval = row->approval};
  Approval& approval = *result.approval;
  if (const auto fault = find_fault(approval, transaction.now())) {
    transaction.session().write(Sql::approval_reopen, {{"approval", id.number()}, {"status", approval.status}});
    Value data = Value::object();
    data.set("approval_id", Value::string(id.text()));
    data.set("status", Value::string(base::spell(approval.status)));
    data.set("chosen_value", json::to_value(approval.chosen_value));
    data.set("reason", Value::string(*fault));
    transaction.record(model::AuditKind::outside_update_voided, outside, data);
    result.kind = OutsideResult::Kind::voided;
    approval.status = ApprovalStatus::pending;
    // The question is no longer asked, or may no longer be answered.
    const bool is_over = !is_awaited(transaction, *row) || engine::is_overdue(approval, transaction.now());
    if (is_over) {
      const Closing closing{.reason = "the run or node that asked has ended, or the approval has expired"};
      close_question(transaction, *row, closing);
      go_on(transaction, executions, worker, *row, closing, result.step);
    }
    return result;
  }
  const bool must_choose = !approval.chosen_value && approval.status == ApprovalStatus::approved;
  if (must_choose) approval.chosen_value = std::ranges::find_if(approval.options, model::approves)->value;
  if (!approval.decided_by) approval.decided_by = outside;
  const Closing closing{.status = approval.status,
                        .chosen_value = approval.chosen_value,
                        .answer = approval.answer,
                        .comment = approval.comment,
                        .decided_by = approval.decided_by,
                        .actor = outside,
                        .reason = "a direct database update"};
  transaction.session().write(Sql::approval_settle,
                              {{"chosen_value", closing.chosen_value},
                               {"decided_by", closing.decided_by},
                               {"decided_at", base::format_time(approval.decided_at.value_or(transaction.now()))},
                               {"approval", id.number()},
                               {"status", approval.status}});
  tell_decision(transaction, *row, closing);
  go_on(transaction, executions, worker, *row, closing, result.step);
  result.kind = OutsideResult::Kind::settled;
  return result;
}

std::variant<engine::Used, engine::Voided, engine::GrantRefusal> use_grant(Transaction& transaction,
                                                                           base::ApprovalId id,
                                                                           const engine::Usage& usage) {
  const auto row = lock_question(transaction, id);
  if (!row) {
    throw base::Error(ErrorCode::approval_not_found, fmt::format("there is no approval {}", id.text()),
                      "`reeve approvals --all` lists all approvals");
  }
  // A direct update takes effect only once it is settled.
  const bool is_open = row->approval.status != ApprovalStatus::pending && !row->is_settled;
  // What a tool call may do starts no attempt, and neither does an answer to a caller outside of runs.
  const bool starts_nothing = row->approval.kind == model::ApprovalKind::tool_call || row->approval.asked_by;
  if (is_open || starts_nothing) return engine::GrantRefusal::not_granted;
  const auto used = engine::use(row->approval, usage);
  if (std::holds_alternative<engine::GrantRefusal>(used)) return used;
  const auto* voided = std::get_if<engine::Voided>(&used);
  const model::ApprovalUse to = voided != nullptr ? model::ApprovalUse::void_ : model::ApprovalUse::used;
  transaction.session().write(Sql::approval_use, {{"use", to}, {"approval", id.number()}});
  Value data = Value::object();
  data.set("approval_id", Value::string(id.text()));
  data.set("attempt", Value::integer(usage.attempt));
  data.set("digest", json::to_value(usage.digest));
  if (voided != nullptr) data.set("reason", Value::string(voided->reason));
  transaction.record(voided != nullptr ? model::AuditKind::approval_voided : model::AuditKind::approval_used, "reeve",
                     data);
  return used;
}

}  // namespace reeve::ledger
