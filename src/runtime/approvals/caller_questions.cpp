#include "runtime/approvals/caller_questions.h"

#include <utility>

#include <fmt/format.h>

#include "runtime/inbox/inbox.h"
#include "runtime/loop/store_task.h"
#include "store/approvals.h"

namespace reeve::runtime {

namespace {

using base::Error;
using ledger::CallerAsked;
using ledger::Transaction;

CallerAsked ask_once(Transaction& transaction, const ledger::CallerQuestion& question,
                     const std::optional<Idempotency>& idempotency) {
  const auto before = find_answer(transaction, idempotency);
  const auto id = before ? base::ApprovalId::parse(*before) : std::nullopt;
  if (id) {
    if (auto row = store::find_approval(transaction.session(), *id)) return {.approval = std::move(row->approval)};
    throw Error(base::ErrorCode::approval_not_found, fmt::format("{} was removed", id->text()), "ask with a new key");
  }
  CallerAsked asked = ledger::ask_for_caller(transaction, question);
  remember_answer(transaction, idempotency, asked.approval.approval_id.text());
  return asked;
}

}  // namespace

void CallerQuestions::ask(ledger::CallerQuestion question, std::optional<Idempotency> idempotency,
                          Done<CallerAsked> done) const {
  ask_store(
      context_.ledger, context_.loop,
      [question = std::move(question), idempotency = std::move(idempotency)](Transaction& transaction) {
        return ask_once(transaction, question, idempotency);
      },
      [&inbox = context_.inbox, done = std::move(done)](std::expected<CallerAsked, Error> asked) {
        if (asked && asked->is_new) inbox.post(QuestionAsked{asked->approval});
        done(std::move(asked));
      });
}

void CallerQuestions::find(std::string asked_by, std::string reference,
                           Done<std::optional<model::Approval>> done) const {
  ask_store(
      context_.ledger, context_.loop,
      [asked_by = std::move(asked_by), reference = std::move(reference)](Transaction& transaction) {
        return ledger::find_caller_question(transaction.session(), asked_by, reference);
      },
      std::move(done));
}

}  // namespace reeve::runtime
