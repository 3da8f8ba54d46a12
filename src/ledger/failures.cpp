#include "ledger/failures.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ledger/runs.h"
#include "store/executions.h"

namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using model::RunStatus;
using store::Sql;

namespace {

// Older failures are no news anyway.
constexpr auto longest_news = std::chrono::days(30);

}  // namespace

model::Run dismiss_run(Transaction& transaction, base::RunId id) {
  store::RunRow row = lock_run(transaction, id);
  if (row.run.status != RunStatus::failed && row.run.status != RunStatus::failed_timeout) {
    throw Error(ErrorCode::run_not_failed,
                fmt::format("{} is {}: there is no failure to dismiss", id.text(), base::spell(row.run.status)));
  }
  transaction.session().write(Sql::run_seen, {{"now", transaction.now_text()}, {"run", id.number()}});
  row.run.seen_at = transaction.now();
  return row.run;
}

void dismiss_execution(Transaction& transaction, base::ExecutionId id) {
  const auto found = store::find_execution(transaction.session(), id, store::NodeDetail::none);
  if (!found) {
    throw Error(ErrorCode::execution_not_found, fmt::format("there is no execution {}", id.text()),
                "`reeve flow list` lists them");
  }
  if (found->status != model::ExecutionStatus::failed) {
    throw Error(ErrorCode::execution_not_failed,
                fmt::format("{} is {}: there is no failure to dismiss", id.text(), base::spell(found->status)));
  }
  transaction.session().write_any(Sql::execution_seen, {{"now", transaction.now_text()}, {"execution", id.number()}});
}

void dismiss_all(Transaction& transaction, const std::optional<std::string>& project) {
  const std::string since = base::format_time(transaction.now() - longest_news);
  for (const Sql statement : {Sql::runs_seen, Sql::executions_seen}) {
    transaction.session().write_any(statement,
                                    {{"now", transaction.now_text()}, {"since", since}, {"project", project}});
  }
}

}  // namespace reeve::ledger
