#include "ledger/pauses.h"

#include <fmt/format.h>

#include "base/error.h"
#include "json/describe.h"
#include "store/executions.h"
#include "store/runs.h"

namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using base::Value;
using store::Sql;

std::vector<model::Run> pause_execution(Transaction& transaction, base::ExecutionId id,
                                        const ExecutionPausing& pausing) {
  // More runs than any worker may start at once.
  constexpr std::int64_t most = 10'000;
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
  std::vector<model::Run> runs = store::list_runs_of_tree(session, id, most);
  std::erase_if(runs, [](const model::Run& run) { return model::is_final(run.status); });
  return runs;
}

}  // namespace reeve::ledger
