#include "ledger/run_questions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "ledger/ending.h"
#include "ledger/risk.h"
#include "ledger/tool_calls.h"
#include "ledger/waiting.h"
#include "store/runs.h"

namespace reeve::ledger {

using base::Value;
using model::ApprovalStatus;
using model::Delivery;
using model::RunStatus;
using store::Row;
using store::Sql;

namespace {

using Kind = RunConsequence::Kind;

std::optional<store::ApprovalRow> find_one(store::Session& session, Sql statement, base::RunId run, int attempt) {
  std::optional<store::ApprovalRow> found;
  session.query(statement, {{"run", run.number()}, {"attempt", attempt}},
                [&](const Row& row) { found = store::read_approval(row); });
  return found;
}

}  // namespace

model::Approval frame_question(Transaction& transaction, const QuestionFrame& frame, model::Approval approval,
                               std::optional<std::chrono::seconds> expires_in) {
  approval.tool_name = frame.tool;
  approval.digest = frame.digest;
  approval.advisory = frame.is_advisory;
  if (approval.options.empty()) approval.options = model::default_options();
  approval.options = model::unique_options(std::move(approval.options));
  const bool is_among = approval.default_value &&
                        std::ranges::find(approval.options, *approval.default_value, &model::ApprovalOption::value) !=
                            approval.options.end();
  if (!is_among) approval.default_value.reset();
  const auto expiry = expires_in ? std::optional<base::Milliseconds>(*expires_in) : frame.expiry.after;
  if (expiry) approval.expires_at = transaction.now() + *expiry;
  const bool is_prompt = approval.delivery == Delivery::terminal;
  engine::RiskSubject subject{
      .source = is_prompt ? engine::RiskSubject::Source::prompt : engine::RiskSubject::Source::question,
      .words = words_of(approval),
      .command = frame.command,
      .is_sandboxed = frame.is_sandboxed};
  subject.screen = frame.dialog;
  set_risk(approval, subject, frame.levels);
  return approval;
}

std::string describe_denial(const model::Approval& approval) {
  if (approval.status == ApprovalStatus::expired) return "approval expired";
  std::string text = fmt::format("rejected by {}", approval.decided_by.value_or("an unknown user"));
  if (approval.comment && !approval.comment->empty()) text += ": " + *approval.comment;
  return text;
}

base::ApprovalId ask_after_end(Transaction& transaction, const model::Run& run, model::Approval approval) {
  approval.tool_run_id = run.tool_run_id;
  approval.execution_id = run.execution_id;
  approval.node_id = run.node_id;
  approval.agent_id = run.agent_id;
  approval.attempt = run.attempt;
  approval.delivery = Delivery::rerun;
  return open_question(transaction, {.approval = std::move(approval)});
}

Asked ask_for_run(Transaction& transaction, base::RunId id, RunQuestion question) {
  const store::RunRow row = lock_run(transaction, id);
  if (is_final(row.run.status) || !is_current(transaction, row.run, question.claim)) return {};
  const auto ignore = [](const Row&) {};
  if (transaction.session().query(Sql::questions_of_run, {{"run", id.number()}}, ignore) > 0) return {row.run, {}};
  Asked asked{.run = row.run};
  if (row.run.status != RunStatus::waiting_approval) {
    asked.run = move_run(transaction, id, {.to = RunStatus::waiting_approval, .outcome = row.run.outcome});
  }
  transaction.session().write(
      Sql::attempt_hold,
      {{"time_left_ms", question.time_left_ms}, {"run", id.number()}, {"attempt", question.claim.attempt}});
  model::Approval& approval = asked.approval.emplace(std::move(question.approval));
  approval.tool_run_id = id;
  approval.execution_id = row.run.execution_id;
  approval.node_id = row.run.node_id;
  approval.agent_id = row.run.agent_id;
  approval.attempt = question.claim.attempt;
  approval.created_at = transaction.now();
  store::ApprovalRow opened{.approval = approval};
  opened.prompt = question.prompt;
  approval.approval_id = open_question(transaction, std::move(opened));
  return asked;
}

void record_refused_questions(Transaction& transaction, const model::Run& run, std::size_t count,
                              const std::string& first) {
  Value data = Value::object();
  data.set("tool", Value::string(run.tool_name));
  data.set("tool_run_id", Value::string(run.tool_run_id.text()));
  data.set("execution_id", json::to_value(run.execution_id));
  data.set("question", Value::string(first));
  data.set("count", Value::integer(static_cast<std::int64_t>(count)));
  data.set("reason", Value::string("another question of this run is still open"));
  transaction.record(model::AuditKind::question_refused, "reeve", data);
  tell_reason(transaction, run,
              fmt::format("{} question{} refused: another one is still open", count, count == 1 ? " was" : "s were"));
}

std::optional<RunConsequence> follow_answer(Transaction& transaction, const store::ApprovalRow& row,
                                            const Closing& closing) {
  if (row.approval.kind == model::ApprovalKind::tool_call) return follow_call_answer(transaction, row, closing);
  if (row.approval.kind != model::ApprovalKind::question || !row.approval.tool_run_id) return std::nullopt;
  const base::RunId id = *row.approval.tool_run_id;
  const store::RunRow asked = lock_run(transaction, id);
  // Only the question that a run waits for can move it.
  const bool is_awaited = asked.run.status == RunStatus::waiting_approval && asked.run.attempt == row.approval.attempt;
  if (!is_awaited) return std::nullopt;
  RunConsequence consequence{
      .run = asked.run, .approval = make_closed(row, closing, transaction.now()), .prompt = row.prompt};
  const bool is_expired = closing.status == ApprovalStatus::expired;
  const bool is_approved = closing.status == ApprovalStatus::approved;
  if (!is_attempt_alive(transaction.session(), id, asked.run.attempt)) {
    consequence.kind = is_approved ? Kind::start_next : Kind::over;
    if (is_approved) return consequence;
    const RunMove move{.to = RunStatus::failed,
                       .reason = describe_denial(consequence.approval),
                       .outcome = is_expired ? asked.run.outcome : model::Outcome::denied,
                       .exit_code = asked.run.exit_code};
    consequence.run = move_run(transaction, id, move).value();
    return consequence;
  }
  if (is_expired) {
    // An expired question never means approval: the waiting process is ended (APR-8).
    const model::RunEnding ending{RunStatus::failed, "approval expired", std::nullopt};
    transaction.session().write(
        Sql::attempt_ending, {{"ending", encode_ending(ending)}, {"run", id.number()}, {"attempt", asked.run.attempt}});
    consequence.kind = Kind::end_process;
    return consequence;
  }
  consequence.run = continue_run(transaction, asked.run);
  consequence.kind = row.approval.delivery == Delivery::terminal ? Kind::type : Kind::go_on;
  if (is_approved && row.approval.delivery == Delivery::live) {
    // The tool can read the answer from this commit on.
    write_use(transaction, row.approval, model::ApprovalUse::used, row.approval.attempt);
    consequence.approval.use = model::ApprovalUse::used;
  }
  return consequence;
}

std::optional<model::Run> withdraw_question(Transaction& transaction, base::ApprovalId id, const std::string& reason) {
  const auto row = lock_question(transaction, id);
  const bool is_open = row && row->approval.status == ApprovalStatus::pending && row->approval.tool_run_id &&
                       row->approval.kind == model::ApprovalKind::question;
  if (!is_open) return std::nullopt;
  close_question(transaction, *row, {.reason = reason});
  const store::RunRow run = lock_run(transaction, *row->approval.tool_run_id);
  if (run.run.status != RunStatus::waiting_approval) return run.run;
  return continue_run(transaction, run.run);
}

void record_read(Transaction& transaction, base::ApprovalId id) {
  const auto row = lock_question(transaction, id);
  const bool is_open = row && row->is_settled && row->approval.kind == model::ApprovalKind::question &&
                       row->approval.status == ApprovalStatus::approved &&
                       row->approval.use == model::ApprovalUse::unused;
  if (is_open) write_use(transaction, row->approval, model::ApprovalUse::used, row->approval.attempt);
}

void record_typed(Transaction& transaction, base::ApprovalId id, bool is_typed) {
  const auto row = lock_question(transaction, id);
  const bool is_open =
      row && row->approval.status == ApprovalStatus::approved && row->approval.use == model::ApprovalUse::unused;
  if (!is_open) return;
  const auto reason = is_typed ? std::nullopt : std::optional<std::string>("nothing was typed");
  write_use(transaction, row->approval, is_typed ? model::ApprovalUse::used : model::ApprovalUse::void_,
            row->approval.attempt, reason);
}

void void_grants(Transaction& transaction, base::RunId run, const std::string& reason) {
  std::vector<base::ApprovalId> open;
  transaction.session().query(Sql::approvals_granted_of_run, {{"run", run.number()}},
                              [&](const Row& row) { open.emplace_back(row.integer(0)); });
  for (const base::ApprovalId id : open) {
    const auto row = lock_question(transaction, id);
    if (row) write_use(transaction, row->approval, model::ApprovalUse::void_, row->approval.attempt, reason);
  }
}

std::optional<store::ApprovalRow> find_question_of(store::Session& session, base::RunId run, int attempt) {
  return find_one(session, Sql::approval_of_attempt, run, attempt);
}

std::vector<model::Approval> find_approvals_of(store::Session& session, base::RunId run, std::int64_t most,
                                               std::optional<model::ApprovalKind> kind) {
  std::vector<model::Approval> found;
  session.query(Sql::approvals_of_run_all, {{"run", run.number()}, {"kind", kind}, {"most", most}},
                [&](const Row& row) { found.push_back(store::read_approval(row).approval); });
  return found;
}

std::vector<GrantedRun> find_granted(store::Session& session, const std::string& host, std::int64_t most) {
  std::vector<GrantedRun> found;
  session.query(Sql::approvals_granted, {{"host", host}, {"most", most}}, [&](const Row& row) {
    found.push_back({base::ApprovalId(row.integer(0)), base::RunId(row.integer(1))});
  });
  return found;
}

}  // namespace reeve::ledger
