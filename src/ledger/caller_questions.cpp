#include "ledger/caller_questions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "ledger/questions.h"
#include "store/approvals.h"
#include "store/stored_project.h"

namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using model::Approval;
using store::Sql;

namespace {

Approval make_approval(const CallerQuestion& question, base::WallTime now) {
  Approval approval;
  approval.question = question.question;
  approval.options = question.options.empty() ? model::default_options() : model::unique_options(question.options);
  approval.default_value = question.default_value;
  approval.tool_ref = question.reference;
  approval.asked_by = question.asked_by;
  if (question.project) approval.project = model::make_project_ref(*question.project);
  approval.delivery = model::Delivery::live;
  // Reeve does not know what the caller will do with a yes.
  approval.risk = model::Risk::medium;
  approval.created_at = now;
  if (question.expires_after) approval.expires_at = now + *question.expires_after;
  return approval;
}

// An answer must not be taken for that of another question.
bool is_same(const Approval& asked, const Approval& wanted) {
  return asked.question == wanted.question && asked.options == wanted.options &&
         store::path_of(asked.project) == store::path_of(wanted.project);
}

}  // namespace

std::optional<Approval> find_caller_question(store::Session& session, const std::string& asked_by,
                                             const std::string& reference) {
  std::optional<Approval> found;
  session.query(Sql::approval_of_reference, {{"asked_by", asked_by}, {"reference", reference}},
                [&](const store::Row& row) { found = store::read_approval(row).approval; });
  return found;
}

CallerAsked ask_for_caller(Transaction& transaction, const CallerQuestion& question) {
  Approval wanted = make_approval(question, transaction.now());
  store::Session& session = transaction.session();
  if (question.reference) {
    if (auto asked = find_caller_question(session, question.asked_by, *question.reference)) {
      if (is_same(*asked, wanted)) return {.approval = std::move(*asked)};
      throw Error(ErrorCode::approval_reference_used,
                  fmt::format("`reference` names {}, which is another question", asked->approval_id.text()),
                  "use a new one for each question");
    }
  }
  const auto ignore = [](const store::Row&) {};
  const auto open =
      session.query(Sql::questions_of_asker, {{"asked_by", question.asked_by}, {"most", max_caller_questions}}, ignore);
  if (static_cast<std::int64_t>(open) >= max_caller_questions) {
    throw Error(ErrorCode::approval_too_many,
                fmt::format("{} questions that {} asked are unanswered", max_caller_questions, question.asked_by),
                "wait for an answer: `reeve approvals` lists them");
  }
  const base::ApprovalId id = open_question(transaction, {.approval = std::move(wanted)});
  return {.approval = store::find_approval(session, id).value().approval, .is_new = true};
}

}  // namespace reeve::ledger
