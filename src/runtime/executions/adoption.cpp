#include "runtime/executions/adoption.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ledger/homes.h"
#include "runtime/loop/store_task.h"
#include "runtime/settings/execution_settings.h"
#include "store/executions.h"

namespace reeve::runtime {

using base::Error;
using ledger::Transaction;

std::optional<AdoptedNode> adopt_node(Transaction& transaction, ledger::Executions& executions,
                                      const ledger::LapsedClaim& lapsed, const ledger::WorkerCapacity& worker) {
  const bool is_own = lapsed.host == worker.host;
  const auto claim = is_own || lapsed.is_spawned ? ledger::adopt(transaction, lapsed.claim, worker.daemon)
                                                 : ledger::take_over(transaction, lapsed.claim, worker.daemon);
  auto held = claim ? executions.load(transaction, *claim) : std::nullopt;
  if (!held) return std::nullopt;
  const std::string& node = held->work.workflow->workflow.nodes[claim->node].id;
  AdoptedNode found{std::move(*held), {}};
  if (lapsed.is_spawned) found.runs = ledger::find_runs(transaction, claim->execution, node);
  if (!found.runs.empty()) {
    const model::Run& last = found.runs.back();
    const auto holder = ledger::find_run_host(transaction, last.tool_run_id, last.attempt);
    found.is_foreign = holder && *holder != worker.host;
  }
  return found;
}

void settle_settings_drafts(RuntimeContext& context, std::function<void()> done) {
  const std::vector<std::string> drafts = find_settings_drafts(context.folder);
  if (drafts.empty()) return done();
  using Named = std::map<std::string, base::ExecutionId>;
  const auto find = [drafts](Transaction& transaction) {
    constexpr std::int64_t page = 500;
    Named named;
    store::ExecutionFilter filter{
        .statuses = {model::ExecutionStatus::running, model::ExecutionStatus::waiting_approval}, .most = page};
    for (bool is_more = true; is_more;) {
      const std::vector<model::Execution> found = store::list_executions(transaction.session(), filter);
      for (const model::Execution& one : found) {
        const base::ExecutionId id = one.execution_id;
        const ledger::Root root = ledger::find_root(transaction, id);
        const base::Value* start = root.execution == id && root.config ? root.config->find(start_key) : nullptr;
        const std::string* nonce = start != nullptr ? start->as_string() : nullptr;
        if (nonce != nullptr && std::ranges::find(drafts, *nonce) != drafts.end()) named.emplace(*nonce, id);
        filter.before = id;
      }
      is_more = std::ssize(found) == page;
    }
    return named;
  };
  const auto settle = [drafts, folder = context.folder](const std::expected<Named, Error>& named) {
    if (!named) return;
    for (const std::string& nonce : drafts) {
      const auto found = named->find(nonce);
      if (found != named->end()) {
        name_settings(folder, nonce, found->second);
      } else {
        drop_settings_draft(folder, nonce);
      }
    }
  };
  ask_store(context.ledger, context.loop, StoreSteps{.before = [] {}, .work = find, .after = settle},
            [done](const std::expected<Named, Error>& named) {
              // Without these files, executions would continue with a different environment: the next daemon tries
              // again.
              if (!named) throw named.error();
              done();
            });
}

}  // namespace reeve::runtime
