#include "ledger/node_status_propagation.h"

#include <utility>

namespace reeve::ledger {

void NodeStatusPropagation::follow(Transaction& transaction) {
  for (const Transaction::NodeWait& wait : transaction.take_waits()) {
    executions_.follow_run(transaction, wait, options_.worker(), result_);
  }
}

void NodeStatusPropagation::finish(const std::optional<base::Error>& error) {
  const StepResult result = std::exchange(result_, {});
  const bool is_empty = result.work.empty() && result.ended.empty() && result.wants_apply.empty();
  if (options_.told && !is_empty) options_.told(error, result);
}

}  // namespace reeve::ledger
