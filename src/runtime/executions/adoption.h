#pragma once

#include <functional>
#include <optional>

#include "ledger/claims.h"
#include "ledger/executions.h"
#include "runtime/inbox/event.h"
#include "runtime/loop/runtime_context.h"

// Work of dead daemons that this one continues (GRF-13).
namespace reeve::runtime {

// Adopts a node that began together with its run. The caller knows that the run has no live processes, or belongs to
// this host. Nothing if another daemon was faster.
std::optional<AdoptedNode> adopt_node(ledger::Transaction& transaction, ledger::Executions& executions,
                                      const ledger::LapsedClaim& lapsed, const ledger::WorkerCapacity& worker);

// Renames settings files that a dead daemon wrote for executions; removes those whose execution never came to exist.
void settle_settings_drafts(RuntimeContext& context, std::function<void()> done);

}  // namespace reeve::runtime
