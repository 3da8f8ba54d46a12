#include "ledger/expiry.h"

#include <algorithm>

#include "json/describe.h"
#include "ledger/run_questions.h"
#include "store/runs.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

namespace {

constexpr auto jump = std::chrono::seconds(60);
constexpr std::int64_t max_shifted = 1'000;

std::optional<base::WallTime> find_next(Transaction& transaction) {
  std::optional<base::WallTime> next;
  for (const Sql statement : {Sql::approvals_next_expiry, Sql::approvals_next_reminder}) {
    transaction.session().query(statement, {}, [&](const Row& row) {
      const auto time = row.is_null(0) ? std::nullopt : store::read_foreign_time(row.text(0));
      if (time && (!next || *time < *next)) next = time;
    });
  }
  return next;
}

}  // namespace

TimeDue find_due(Transaction& transaction, std::int64_t most) {
  TimeDue due;
  due.overdue = find_overdue(transaction.session(), transaction.now(), most);
  transaction.session().query(Sql::approvals_to_remind, {{"now", base::format_time(transaction.now())}, {"most", most}},
                              [&](const Row& row) { due.half.emplace_back(row.integer(0)); });
  due.next = find_next(transaction);
  return due;
}

void remind(Transaction& transaction, base::ApprovalId id) {
  const auto row = lock_question(transaction, id);
  // Another daemon may have been faster.
  const auto ignore = [](const Row&) {};
  const bool is_due =
      row && transaction.session().query(Sql::approval_unreminded,
                                         {{"approval", id.number()}, {"now", transaction.now_text()}}, ignore) > 0;
  if (!is_due) return;
  // A question that expires is repeated once, any other every day: nobody else would end the wait.
  std::optional<std::string> next;
  if (!row->approval.expires_at) next = base::format_time(transaction.now() + store::reminder_interval);
  transaction.session().write_any(Sql::approval_reminded, {{"next", next}, {"approval", id.number()}});
  tell_question(transaction, row->approval, Telling::reminder);
}

bool note_clock(Transaction& transaction, const std::string& host, const std::string& boot_id,
                base::Milliseconds offset) {
  std::optional<base::Milliseconds> before;
  transaction.session().query(Sql::clock_load, {{"host", host}, {"boot_id", boot_id}},
                              [&](const Row& row) { before = base::Milliseconds(row.integer(0)); });
  transaction.session().write(Sql::clock_write, {{"host", host}, {"boot_id", boot_id}, {"offset_ms", offset.count()}});
  if (!before || std::chrono::abs(offset - *before) <= jump) return false;
  const base::Milliseconds shift = offset - *before;
  struct Timed {
    std::int64_t number = 0;
    base::WallTime expires_at;
    std::optional<base::WallTime> remind_at;
  };
  for (std::int64_t after = 0;;) {
    std::vector<Timed> timed;
    std::int64_t last = 0;
    std::int64_t count = 0;
    transaction.session().query(Sql::approvals_timed, {{"after", after}, {"most", max_shifted}}, [&](const Row& row) {
      const auto expires_at = store::read_foreign_time(row.text(1));
      if (expires_at) timed.push_back({row.integer(0), *expires_at, row.find_time(2)});
      last = row.integer(0);
      ++count;
    });
    for (const Timed& one : timed) {
      const auto remind_at = one.remind_at ? std::optional(base::format_time(*one.remind_at + shift)) : std::nullopt;
      transaction.session().write(Sql::approval_shift, {{"expires_at", base::format_time(one.expires_at + shift)},
                                                        {"remind_at", remind_at},
                                                        {"approval", one.number}});
    }
    if (count < max_shifted) return true;
    after = last;
  }
}

std::vector<RunConsequence> find_answered(Transaction& transaction, const std::vector<base::RunId>& waiting) {
  using Kind = RunConsequence::Kind;
  std::vector<RunConsequence> answered;
  for (const base::RunId id : waiting) {
    const auto run = store::find_run(transaction.session(), id);
    std::optional<store::ApprovalRow> last;
    transaction.session().query(Sql::approval_last, {{"run", id.number()}},
                                [&](const Row& row) { last = store::read_approval(row); });
    const bool is_closed = run && last && last->approval.status != model::ApprovalStatus::pending && last->is_settled &&
                           last->approval.attempt == run->run.attempt;
    if (!is_closed) continue;
    // Withdrawn: the tool has continued without an answer.
    const bool is_expired = last->approval.status == model::ApprovalStatus::expired;
    if (is_expired && run->run.status != model::RunStatus::waiting_approval && !is_final(run->run.status)) continue;
    RunConsequence consequence{.run = run->run, .approval = last->approval, .prompt = last->prompt};
    const bool is_typed = last->approval.delivery == model::Delivery::terminal;
    consequence.kind = is_expired ? Kind::end_process : is_typed ? Kind::type : Kind::go_on;
    answered.push_back(std::move(consequence));
  }
  return answered;
}

}  // namespace reeve::ledger
