#include "ledger/pauses.h"

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "ledger/claims.h"
#include "ledger/runs.h"
#include "store/executions.h"
#include "store/runs.h"

namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using base::Value;
using store::Sql;

namespace {

// More runs than any worker may start at once.
constexpr std::int64_t max_runs = 10'000;

void pause_runs_elsewhere(Transaction& transaction, base::ExecutionId id, const ExecutionPausing& pausing) {
  std::vector<base::RunId> runs;
  transaction.session().query(Sql::runs_of_tree_elsewhere,
                              {{"root", id.number()}, {"daemon", *pausing.daemon}, {"most", max_runs}},
                              [&](const store::Row& row) { runs.emplace_back(row.integer(0)); });
  for (const base::RunId run : runs) {
    pause_run_elsewhere(transaction, run, {.is_paused = pausing.is_paused, .by = pausing.by});
  }
  if (transaction.session().engine() == store::Engine::postgresql) wake_others(transaction);
}

}  // namespace

std::vector<model::Run> pause_execution(Transaction& transaction, base::ExecutionId id,
                                        const ExecutionPausing& pausing) {
  store::Session& session = transaction.session();
  const auto found = store::find_execution(session, id, store::NodeDetail::none);
  if (!found) {
    throw Error(ErrorCode::execution_not_found, fmt::format("there is no execution {}", id.text()),
                "`reeve flow list` lists them");
  }
  if (model::is_over(found->status)) {
    throw Error(ErrorCode::execution_over, fmt::format("{} has already ended. Nothing changed.", id.text()));
  }
  if (found->paused_at.has_value() != pausing.is_paused) {
    const auto paused_at = pausing.is_paused ? std::optional(transaction.now_text()) : std::nullopt;
    session.write_any(Sql::execution_pause, {{"paused_at", paused_at}, {"execution", id.number()}});
    Value data = Value::object();
    data.set("execution_id", Value::string(id.text()));
    data.set("status", Value::string(base::spell(found->status)));
    data.set("reason", Value::string(fmt::format("{} by {}", pausing.is_paused ? "paused" : "resumed", pausing.by)));
    if (paused_at) data.set("paused_at", Value::string(*paused_at));
    transaction.tell(model::EventKind::execution_status_change, data, {.status = found->status, .execution = id});
  }
  if (pausing.daemon) pause_runs_elsewhere(transaction, id, pausing);
  std::vector<model::Run> runs = store::list_runs_of_tree(session, id, max_runs);
  std::erase_if(runs, [](const model::Run& run) { return model::is_final(run.status); });
  return runs;
}

}  // namespace reeve::ledger
