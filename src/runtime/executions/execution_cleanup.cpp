#include "runtime/executions/execution_cleanup.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "ledger/homes.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;

// Executions checked per poll.
constexpr std::size_t max_polled = 1'000;

}  // namespace

void ExecutionCleanup::on_node_gone(base::ExecutionId root) {
  const auto found = ending_nodes_.find(root);
  if (found == ending_nodes_.end() || --found->second > 0) return;
  ending_nodes_.erase(found);
  if (const auto over = to_begin_.extract(root)) begin(root, over.mapped());
}

void ExecutionCleanup::when_over(base::ExecutionId root, std::function<void()> go_on) {
  after_[root].push_back(std::move(go_on));
}

void ExecutionCleanup::apply(base::ExecutionId execution) {
  settings_.read(execution, [this, execution](const std::expected<StoredSettings::Place, Error>& place) {
    if (!place && is_of_store(place.error())) return retry_.later([this, execution] { apply(execution); });
    if (place && place->settings->base_commit) apply_passed(place->root, place->settings, [] {});
  });
}

void ExecutionCleanup::log_unapplied(base::ExecutionId root, const std::string& why) const {
  context_.log_warning(fmt::format("the changes of {} were not applied: {}", root.text(), why));
}

void ExecutionCleanup::begin(base::ExecutionId root, model::ExecutionStatus status) {
  running_.insert(root);
  if (ending_nodes_.contains(root)) {
    to_begin_.insert_or_assign(root, status);
    return;
  }
  settings_.read(root, [this, root, status](const std::expected<StoredSettings::Place, Error>& place) {
    settings_.forget(root);
    if (!place && is_of_store(place.error())) return retry_.later([this, root, status] { begin(root, status); });
    if (!place || !place->settings->base_commit) return close(root, status, nullptr);
    if (status != model::ExecutionStatus::completed) return close(root, status, place->settings);
    apply_passed(root, place->settings,
                 [this, root, status, settings = place->settings] { close(root, status, settings); });
  });
}

// ISO-3: applies only if every gate passed.
void ExecutionCleanup::apply_passed(base::ExecutionId root, const SharedSettings& settings,
                                    std::function<void()> done) {
  ask_store(
      context_.ledger, context_.loop,
      [root](Transaction& transaction) { return ledger::find_refusing_gate(transaction, root); },
      [this, root, settings, done](const std::expected<std::optional<std::string>, Error>& refusing) {
        // An unknown result is not a refusal: retried until it is known.
        if (!refusing) return retry_.later([this, root, settings, done] { apply_passed(root, settings, done); });
        if (*refusing) {
          log_unapplied(root, fmt::format("gate {} did not pass", base::quoted(**refusing)));
          unapplied_.insert(root);
          return done();
        }
        isolation_.apply(make_isolation_settings(*settings), root, settings->apply,
                         [this, root, done](const std::expected<Isolation::Applied, Error>& applied) {
                           if (!applied) log_unapplied(root, applied.error().message());
                           const bool is_held = applied && applied->kind == Isolation::Applied::Kind::held;
                           if (is_held) log_unapplied(root, applied->message);
                           if (!applied || applied->waits) {
                             unapplied_.insert(root);
                           } else {
                             unapplied_.erase(root);
                           }
                           done();
                         });
      });
}

void ExecutionCleanup::close(base::ExecutionId root, model::ExecutionStatus status, const SharedSettings& settings) {
  if (settings == nullptr) return on_closed(root, status, true);
  isolation_.close(make_isolation_settings(*settings), root,
                   [this, root, status](bool is_done) { on_closed(root, status, is_done); });
}

void ExecutionCleanup::on_closed(base::ExecutionId root, model::ExecutionStatus status, bool is_done) {
  running_.erase(root);
  // Otherwise the next daemon finds it open and tries again.
  if (is_done) {
    open_.erase(root);
    pauses_.erase(root);
    close_settings(context_.folder, root);
    // A failed execution may be retried with its original environment, and unapplied changes may still be applied.
    const bool is_needed = status == model::ExecutionStatus::failed || unapplied_.contains(root);
    if (!is_needed) remove_settings(context_.folder, root);
    unapplied_.erase(root);
  } else {
    pauses_.put_off(root);
  }
  if (const auto waiting = after_.extract(root)) {
    for (const auto& go_on : waiting.mapped()) go_on();
  }
}

void ExecutionCleanup::add_open(base::ExecutionId root) {
  if (context_.lease) open_.insert(root);
}

void ExecutionCleanup::begin_left() {
  // Nothing if it never came to exist.
  using Statuses = std::map<base::ExecutionId, std::optional<model::ExecutionStatus>>;
  ask_store(
      context_.ledger, context_.loop,
      [open = find_open_settings(context_.folder)](Transaction& transaction) {
        Statuses statuses;
        for (const base::ExecutionId id : open) {
          try {
            statuses.emplace(id, ledger::find_root(transaction, id).status);
          } catch (const Error& error) {
            if (!error.is(ErrorCode::execution_not_found)) throw;
            statuses.emplace(id, std::nullopt);
          }
        }
        return statuses;
      },
      [this](const std::expected<Statuses, Error>& statuses) {
        if (!statuses) throw statuses.error();
        std::set<base::ExecutionId> alive;
        for (const auto& [id, status] : *statuses) {
          if (!status) {
            remove_settings(context_.folder, id);
            continue;
          }
          alive.insert(id);
          add_open(id);
          if (model::is_over(*status)) begin(id, *status);
        }
        isolation_.begin(std::move(alive), [] {});
      });
}

void ExecutionCleanup::poll() {
  const base::BootTime now = context_.loop.now();
  if (open_.empty() || is_polling_ || now < next_poll_) return;
  next_poll_ = now + context_.supervision.poll_interval;
  is_polling_ = true;
  std::vector<base::ExecutionId> some;
  auto next = open_.upper_bound(polled_to_);
  for (; next != open_.end() && some.size() < max_polled; ++next) some.push_back(*next);
  polled_to_ = next != open_.end() ? some.back() : base::ExecutionId(0);
  ask_store(
      context_.ledger, context_.loop, [some](Transaction& transaction) { return ledger::find_over(transaction, some); },
      [this](const std::expected<std::vector<ledger::Over>, Error>& over) {
        is_polling_ = false;
        if (!over) return;
        for (const ledger::Over& one : *over) {
          // This daemon may have been notified meanwhile.
          const bool is_left = open_.contains(one.execution) && !running_.contains(one.execution);
          if (is_left && pauses_.is_due(one.execution)) begin(one.execution, one.status);
        }
      });
}

}  // namespace reeve::runtime
