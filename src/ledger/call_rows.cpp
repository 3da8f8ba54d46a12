#include "ledger/call_rows.h"

#include "json/describe.h"
#include "ledger/questions.h"
#include "store/runs.h"
#include "store/stored_project.h"

namespace reeve::ledger {

using base::Value;
using store::Row;
using store::Sql;

std::optional<LockedCall> lock_call(Transaction& transaction, base::CallId id) {
  std::optional<base::RunId> run;
  transaction.session().query(Sql::call_run, {{"call", id.number()}},
                              [&](const Row& row) { run = base::RunId(row.integer(0)); });
  if (!run) return std::nullopt;
  store::RunRow locked = lock_run(transaction, *run);
  auto row = store::find_call(transaction.session(), id);
  if (!row) return std::nullopt;
  return LockedCall{std::move(locked), std::move(*row)};
}

CallStored make_stored(Transaction& transaction, const model::Run& run, const store::CallRow& row) {
  CallStored stored{.run = run, .row = row};
  if (!row.call.approval_id) return stored;
  if (auto found = store::find_approval(transaction.session(), *row.call.approval_id)) {
    stored.approval = std::move(found->approval);
  }
  return stored;
}

Value describe_call(const model::Run& run, const model::ToolCall& call) {
  Value data = Value::object();
  data.set("call_id", Value::string(call.call_id.text()));
  data.set("approval_id", json::to_value(call.approval_id));
  data.set("tool_run_id", Value::string(run.tool_run_id.text()));
  data.set("execution_id", json::to_value(run.execution_id));
  data.set("agent", Value::string(run.tool_name));
  data.set("tool", Value::string(call.tool));
  data.set("rule", Value::string(call.rule));
  data.set("project", json::to_value(store::path_of(run.project)));
  return data;
}

void tell_denial(Transaction& transaction, const model::Run& run, const model::ToolCall& call,
                 const std::string& reason) {
  Value data = describe_call(run, call);
  data.set("digest", Value::string(call.arguments_digest));
  data.set("reason", Value::string(reason));
  transaction.tell(model::EventKind::policy_denied, data, {.execution = run.execution_id});
  transaction.record(model::AuditKind::policy_denied, "reeve", data);
}

void withdraw_row(Transaction& transaction, base::CallId id, const std::optional<base::ApprovalId>& approval,
                  const std::string& reason) {
  const auto asked = approval ? lock_question(transaction, *approval) : std::nullopt;
  if (asked && asked->approval.status == model::ApprovalStatus::pending) {
    close_question(transaction, *asked, {.reason = reason});
  } else if (asked && asked->is_settled && asked->approval.status == model::ApprovalStatus::approved &&
             asked->approval.use == model::ApprovalUse::unused) {
    write_use(transaction, asked->approval, model::ApprovalUse::void_, asked->approval.attempt, reason);
  }
  transaction.session().write(Sql::call_withdraw,
                              {{"now", transaction.now_text()}, {"reason", reason}, {"call", id.number()}});
}

}  // namespace reeve::ledger
