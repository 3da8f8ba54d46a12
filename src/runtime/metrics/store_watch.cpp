#include "runtime/metrics/store_watch.h"

#include <utility>

#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using store::Row;
using store::Sql;
using Answer = std::expected<StoreFigures, base::Error>;

StoreFigures read_figures(ledger::Transaction& transaction) {
  store::Session& session = transaction.session();
  StoreFigures figures;
  session.query(Sql::runs_counted, {},
                [&](const Row& row) { figures.runs[row.word<model::RunStatus>(0)] = row.integer(1); });
  session.query(Sql::executions_counted, {},
                [&](const Row& row) { figures.executions[row.word<model::ExecutionStatus>(0)] = row.integer(1); });
  session.query(Sql::approvals_counted, {}, [&](const Row& row) {
    figures.pending_approvals = row.integer(0);
    const auto oldest = row.find_time(1);
    if (oldest) figures.oldest_pending = std::max(transaction.now() - *oldest, base::Milliseconds(0));
  });
  figures.last_event = session.query_number(Sql::events_last, {});
  return figures;
}

}  // namespace

void StoreWatch::ask(Told told) {
  const bool is_fresh = last_ && loop_.now() < last_at_ + fresh_for;
  if (is_fresh) {
    loop_.post([told = std::move(told), figures = *last_] { told(figures); });
    return;
  }
  const std::uint64_t number = next_waiting_++;
  waiting_.emplace(number,
                   Waiting{std::move(told), loop_.at(loop_.now() + timeout, [this, number] {
                             // Removed together with its timer, which is making this call.
                             const auto late = waiting_.extract(number);
                             late.mapped().told(std::unexpected(base::Error(
                                 base::ErrorCode::store_unavailable, "the store has not answered within two seconds",
                                 "run `reeve doctor`; logs/daemon.log has the details")));
                           })});
  if (!std::exchange(is_asking_, true)) ask_now();
}

void StoreWatch::ask_now() {
  ask_store(ledger_, loop_, read_figures, [this](const Answer& answer) {
    is_asking_ = false;
    if (answer) {
      last_ = *answer;
      last_at_ = loop_.now();
    }
    tell_all(answer);
  });
}

void StoreWatch::tell_all(const Answer& answer) {
  // Callbacks may ask again.
  const auto told = std::exchange(waiting_, {});
  for (const auto& [_, waiting] : told) waiting.told(answer);
}

}  // namespace reeve::runtime
