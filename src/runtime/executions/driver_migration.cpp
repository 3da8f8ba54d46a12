#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"

// ISO-1: an execution whose branch is on a remote is owned by one host at a time. If its owner is gone, it migrates
// here: first its branch is fetched, which proves that this host can; then ownership moves, in the transaction that
// claims its work.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t max_adrift = 64;
constexpr base::Milliseconds longest_pause = std::chrono::minutes(5);

}  // namespace

void ExecutionDriver::put_off(std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const {
  Pause& pause = pauses[root];
  pause.until = context_.loop.now() + pause.length;
  pause.length = std::min(2 * pause.length, longest_pause);
}

bool ExecutionDriver::is_due(const std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const {
  const auto found = pauses.find(root);
  return found == pauses.end() || found->second.until <= context_.loop.now();
}

void ExecutionDriver::find_migratable() {
  const base::BootTime now = context_.loop.now();
  if (is_migrating_ || room() == 0 || now < next_migration_) return;
  next_migration_ = now + context_.supervision.poll_interval;
  is_migrating_ = true;
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host, grace = context_.supervision.adopt_grace](Transaction& transaction) {
        return ledger::find_adrift(transaction, host, grace, max_adrift);
      },
      [this](const std::expected<std::vector<base::ExecutionId>, Error>& adrift) {
        is_migrating_ = false;
        if (!adrift) {
          return context_.log_warning("cannot look for work that other daemons left: " + adrift.error().message());
        }
        std::erase_if(migratable_,
                      [&](const auto& entry) { return std::ranges::find(*adrift, entry.first) == adrift->end(); });
        const auto next =
            std::ranges::find_if(*adrift, [this](base::ExecutionId root) { return is_due(migratable_, root); });
        if (next != adrift->end()) migrate(*next);
      });
}

void ExecutionDriver::migrate(base::ExecutionId root) {
  is_migrating_ = true;
  with_place(root, [this, root](std::expected<Place, Error> place) {
    if (!place) return end_migration(root, place.error());
    helpers_.isolation.migrate(make_isolation_settings(*place->settings), root,
                               [this, root, settings = place->settings](std::expected<std::string, Error> tip) {
                                 if (!tip) return end_migration(root, tip.error());
                                 settle(root, settings, *tip);
                               });
  });
}

void ExecutionDriver::settle(base::ExecutionId root, const SharedSettings& settings, const std::string& tip) {
  const ledger::OwnerHostMove move{.root = root,
                                   .host = context_.host,
                                   .project = settings->project,
                                   .tip = tip,
                                   .grace = context_.supervision.adopt_grace};
  ask_store(
      context_.ledger, context_.loop,
      [move, worker = capacity(0), &ledger = context_.ledger](Transaction& transaction) {
        MigrationResult result;
        const auto moved = ledger::move_owner_host(transaction, ledger.executions(), move);
        if (!moved) return result;
        result.is_here = true;
        for (const ledger::LapsedClaim& lapsed : moved->left) {
          auto found = take_left(transaction, ledger.executions(), lapsed, worker);
          if (found) result.found.push_back(std::move(*found));
        }
        for (const base::ExecutionId execution : moved->executions) {
          ledger.executions().step(transaction, execution, engine::RoomOffered{}, worker, result.step);
        }
        return result;
      },
      [this, root](std::expected<MigrationResult, Error> result) {
        if (!result) {
          rethrow_unknown_commit(result.error());
          return end_migration(root, result.error());
        }
        on_migration_result(root, *result);
      });
}

void ExecutionDriver::on_migration_result(base::ExecutionId root, const MigrationResult& result) {
  end_migration(root, std::nullopt);
  // Another host was faster, which is not a failure.
  if (!result.is_here) {
    if (!open_.contains(root)) forget_remote_copy(context_.folder, root);
    return put_off(migratable_, root);
  }
  context_.crash_point("execution.after_move");
  context_.log_warning(fmt::format("{} continues on this host", root.text()));
  note_open(root);
  take_found(result.found);
  perform(result.step);
}

void ExecutionDriver::end_migration(base::ExecutionId root, const std::optional<Error>& error) {
  is_migrating_ = false;
  if (!error) {
    migratable_.erase(root);
    // There may be more to migrate.
    next_migration_ = context_.loop.now();
    return;
  }
  if (!open_.contains(root)) forget_remote_copy(context_.folder, root);
  put_off(migratable_, root);
  context_.log_warning(fmt::format("{} cannot continue on this host: {}", root.text(), error->message()));
}

}  // namespace reeve::runtime
