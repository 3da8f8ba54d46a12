#include "ledger/questions.h"

#include "base/text.h"
#include "json/describe.h"
#include "json/encode.h"
#include "store/stored_project.h"

namespace reeve::ledger {

using base::Value;
using model::ApprovalStatus;
using store::Sql;

namespace {

// The fields that every event and audit entry about an approval begin with.
Value describe_subject(const model::Approval& approval) {
  Value data = Value::object();
  data.set("approval_id", Value::string(approval.approval_id.text()));
  data.set("tool", json::to_value(approval.tool_name));
  data.set("tool_run_id", json::to_value(approval.tool_run_id));
  data.set("execution_id", json::to_value(approval.execution_id));
  data.set("node_id", json::to_value(approval.node_id));
  data.set("project", json::to_value(store::path_of(approval.project)));
  if (approval.asked_by) data.set("asked_by", Value::string(*approval.asked_by));
  return data;
}

model::AuditKind audit_kind(ApprovalStatus status) {
  if (status == ApprovalStatus::approved) return model::AuditKind::approval_granted;
  return status == ApprovalStatus::rejected ? model::AuditKind::approval_rejected : model::AuditKind::approval_expired;
}

// Limits for the inputs shown with a question: per input, and in total.
constexpr std::size_t max_of_input = 16UL * 1024;
constexpr std::size_t max_of_inputs = 64UL * 1024;

Value shown_inputs(const Value& inputs) {
  Value shown = Value::object();
  if (inputs.as_object() == nullptr) return shown;
  std::size_t size = 0;
  for (const base::Member& member : *inputs.as_object()) {
    if (member.key.find('.') != std::string::npos) continue;
    const std::string* text = member.value.as_string();
    Value value = text != nullptr ? Value::string(base::truncate_utf8(*text, max_of_input)) : member.value;
    const std::size_t length = member.key.size() + json::encode(value).size();
    // Escaping may lengthen the text.
    const bool fits = (text != nullptr || length <= max_of_input) && size + length <= max_of_inputs;
    if (!fits) continue;
    size += length;
    shown.set(member.key, std::move(value));
  }
  return shown;
}

}  // namespace

std::optional<Value> make_node_arguments(const std::optional<std::string>& description, const Value& inputs) {
  Value arguments = Value::object();
  if (description) arguments.set("description", Value::string(*description));
  if (Value shown = shown_inputs(inputs); !shown.as_object()->empty()) arguments.set("inputs", std::move(shown));
  return arguments.as_object()->empty() ? std::nullopt : std::optional(std::move(arguments));
}

base::ApprovalId open_question(Transaction& transaction, store::ApprovalRow row) {
  model::Approval& approval = row.approval;
  approval.options = model::unique_options(std::move(approval.options));
  approval.approval_id = store::insert_approval(transaction.session(), row, transaction.now_text());
  transaction.session().query(Sql::approval_project, {{"approval", approval.approval_id.number()}},
                              [&](const store::Row& found) { approval.project = store::find_project(found, 0); });
  tell_question(transaction, approval, Telling::first);
  return approval.approval_id;
}

void tell_question(Transaction& transaction, const model::Approval& approval, Telling telling) {
  Value data = describe_subject(approval);
  data.set("question", Value::string(approval.question));
  data.set("options", json::to_value(approval.options));
  data.set("default", json::to_value(approval.default_value));
  data.set("expires_at", json::to_value(approval.expires_at));
  data.set("digest", json::to_value(approval.digest));
  data.set("risk", Value::string(base::spell(approval.risk)));
  data.set("risk_reasons", json::to_value(approval.risk_reasons));
  // The audit trail does without the screen.
  Value told = data;
  if (approval.context) told.set("context", Value::string(*approval.context));
  if (telling == Telling::reminder) told.set("reminder", Value::boolean(true));
  transaction.tell(model::EventKind::approval_needed, told, {.execution = approval.execution_id, .expires = true});
  if (telling == Telling::reminder) return;
  transaction.record(model::AuditKind::approval_requested, approval.asked_by.value_or("reeve"), data);
}

std::optional<store::ApprovalRow> lock_question(Transaction& transaction, base::ApprovalId id) {
  std::optional<store::ApprovalRow> found;
  transaction.session().query(Sql::approval_lock, {{"approval", id.number()}},
                              [&](const store::Row& row) { found = store::read_approval(row); });
  if (!found && store::find_approval(transaction.session(), id)) throw AggregateBusy{};
  return found;
}

void close_question(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing) {
  transaction.session().write(Sql::approval_decide, {{"status", closing.status},
                                                     {"chosen_value", closing.chosen_value},
                                                     {"answer", closing.answer},
                                                     {"comment", closing.comment},
                                                     {"decided_by", closing.decided_by},
                                                     {"now", transaction.now_text()},
                                                     {"approval", row.approval.approval_id.number()}});
  tell_decision(transaction, row, closing);
}

model::Approval make_closed(const store::ApprovalRow& row, const Closing& closing, base::WallTime now) {
  model::Approval approval = row.approval;
  approval.status = closing.status;
  approval.chosen_value = closing.chosen_value;
  approval.answer = closing.answer;
  approval.comment = closing.comment;
  approval.decided_by = closing.decided_by;
  approval.decided_at = now;
  return approval;
}

void write_use(Transaction& transaction, const model::Approval& approval, model::ApprovalUse use, int attempt,
               const std::optional<std::string>& reason) {
  transaction.session().write(Sql::approval_use, {{"use", use}, {"approval", approval.approval_id.number()}});
  Value data = Value::object();
  data.set("approval_id", Value::string(approval.approval_id.text()));
  data.set("attempt", Value::integer(attempt));
  data.set("digest", json::to_value(approval.digest));
  if (reason) data.set("reason", Value::string(*reason));
  const bool is_used = use == model::ApprovalUse::used;
  transaction.record(is_used ? model::AuditKind::approval_used : model::AuditKind::approval_voided, "reeve", data);
}

void tell_decision(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing) {
  Value data = describe_subject(row.approval);
  data.set("status", Value::string(base::spell(closing.status)));
  data.set("chosen_value", json::to_value(closing.chosen_value));
  data.set("decided_by", json::to_value(closing.decided_by));
  transaction.tell(model::EventKind::approval_status_change, data,
                   {.status = closing.status, .execution = row.approval.execution_id});
  if (closing.answer) data.set("answer", Value::string(*closing.answer));
  data.set("comment", json::to_value(closing.comment));
  data.set("reason", json::to_value(closing.reason));
  if (closing.note) data.set("says", Value::string(*closing.note));
  transaction.record(audit_kind(closing.status), closing.actor, data);
}

}  // namespace reeve::ledger
