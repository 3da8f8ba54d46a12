#include "runtime/executions/execution_migration.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ledger/homes.h"
#include "runtime/executions/adoption.h"
#include "runtime/inbox/inbox.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t max_adrift = 64;

}  // namespace

void ExecutionMigration::poll() {
  const base::BootTime now = context_.loop.now();
  if (is_busy_ || parts_.slots.room() == 0 || now < next_poll_) return;
  next_poll_ = now + context_.supervision.poll_interval;
  is_busy_ = true;
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host, grace = context_.supervision.adopt_grace](Transaction& transaction) {
        return ledger::find_adrift(transaction, host, grace, max_adrift);
      },
      [this](const std::expected<std::vector<base::ExecutionId>, Error>& adrift) {
        is_busy_ = false;
        if (!adrift) {
          return context_.log_warning("cannot look for work that other daemons left: " + adrift.error().message());
        }
        pauses_.keep_only(*adrift);
        const auto next =
            std::ranges::find_if(*adrift, [this](base::ExecutionId root) { return pauses_.is_due(root); });
        if (next != adrift->end()) fetch(*next);
      });
}

void ExecutionMigration::fetch(base::ExecutionId root) {
  is_busy_ = true;
  parts_.settings.read(root, [this, root](const std::expected<StoredSettings::Place, Error>& place) {
    if (!place) return fail(root, place.error());
    parts_.isolation.migrate(make_isolation_settings(*place->settings), root,
                             [this, root, settings = place->settings](const std::expected<std::string, Error>& tip) {
                               if (!tip) return fail(root, tip.error());
                               move(root, settings->project, *tip);
                             });
  });
}

void ExecutionMigration::move(base::ExecutionId root, const std::string& project, const std::string& tip) {
  const ledger::OwnerHostMove move{
      .root = root, .host = context_.host, .project = project, .tip = tip, .grace = context_.supervision.adopt_grace};
  const ledger::WorkerCapacity worker{context_.daemon, parts_.slots.room(), context_.host};
  ask_store(
      context_.ledger, context_.loop,
      [move, worker, &ledger = context_.ledger](Transaction& transaction) -> std::optional<ExecutionMigrated> {
        const auto moved = ledger::move_owner_host(transaction, ledger.executions(), move);
        if (!moved) return std::nullopt;
        ExecutionMigrated migrated{.root = move.root, .nodes = {}, .step = {}};
        for (const ledger::LapsedClaim& lapsed : moved->left) {
          auto node = adopt_node(transaction, ledger.executions(), lapsed, worker);
          if (node) migrated.nodes.push_back(std::move(*node));
        }
        for (const base::ExecutionId execution : moved->executions) {
          ledger.executions().step(transaction, execution, engine::RoomOffered{}, worker, migrated.step);
        }
        return migrated;
      },
      [this, root](std::expected<std::optional<ExecutionMigrated>, Error> migrated) {
        if (!migrated) {
          rethrow_unknown_commit(migrated.error());
          return fail(root, migrated.error());
        }
        on_moved(root, std::move(*migrated));
      });
}

void ExecutionMigration::on_moved(base::ExecutionId root, std::optional<ExecutionMigrated> migrated) {
  is_busy_ = false;
  // There may be more to migrate.
  next_poll_ = context_.loop.now();
  pauses_.erase(root);
  // Another host was faster, which is not a failure.
  if (!migrated) return put_off(root);
  context_.crash_point("execution.after_move");
  context_.log_warning(fmt::format("{} continues on this host", root.text()));
  parts_.cleanup.add_open(root);
  context_.inbox.post(std::move(*migrated));
}

void ExecutionMigration::put_off(base::ExecutionId root) {
  if (!parts_.cleanup.is_open(root)) forget_remote_copy(context_.folder, root);
  pauses_.put_off(root);
}

void ExecutionMigration::fail(base::ExecutionId root, const Error& error) {
  is_busy_ = false;
  put_off(root);
  context_.log_warning(fmt::format("{} cannot continue on this host: {}", root.text(), error.message()));
}

}  // namespace reeve::runtime
