#include "runtime/upkeep/pruner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/id.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/loop/store_task.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using ledger::PruneProgress;
using ledger::Removal;
using ledger::RemovalKind;

// A daemon without work exits after a minute by default, so the first check comes before that.
constexpr base::Milliseconds first_check = std::chrono::seconds(10);
constexpr base::Milliseconds check_interval = std::chrono::hours(24);
constexpr base::Milliseconds least_age = std::chrono::hours(24);
constexpr std::int64_t removals_at_once = 200;

std::string ref_of(const Removal& removal) {
  const base::ExecutionId root(removal.root);
  if (removal.kind == RemovalKind::branch) return branch_ref(root);
  return kept_ref(root, base::PatchId(removal.subject).text());
}

}  // namespace

struct Pruner::Task {
  ledger::RetentionTerms terms;
  std::string actor;
  Done done;
  // Without one, only files are removed.
  std::optional<std::int64_t> number;
  PruneProgress progress;
  Result result;
};

Pruner::Pruner(RuntimeContext& context, Isolation& isolation, Store store, Reload reload)
    : context_(context), isolation_(isolation), store_(store), reload_(std::move(reload)) {}

void Pruner::wait_until(base::Milliseconds from_now) {
  timer_ = context_.loop.at(context_.loop.now() + from_now, [this] { context_.loop.post([this] { check_due(); }); });
}

void Pruner::begin() {
  wait_until(first_check);
  sweep_left();
}

// The files that an earlier prune, here or on another host, has left to this host.
void Pruner::sweep_left() {
  is_busy_ = is_automatic_ = true;
  auto task = std::make_shared<Task>();
  task->done = [](const std::expected<Result, Error>&) {};
  sweep(task, 0);
}

ledger::RetentionTerms Pruner::make_terms(const Order& order) const {
  const auto before = [&](const base::TimeLimit& limit) -> std::optional<base::WallTime> {
    if (!limit.after) return std::nullopt;
    return context_.clock.wall_now() - std::max(*limit.after, least_age);
  };
  return {.runs_before = before(order.retention.runs),
          .output_before = before(order.retention.output),
          .keep_failed = order.retention.keep_failed,
          .is_dry_run = order.is_dry_run,
          .host = context_.host};
}

void Pruner::check_due() {
  wait_until(check_interval);
  const auto config = reload_();
  if (!config || is_busy_) return;
  const ledger::RetentionTerms terms = make_terms({.retention = config->retention, .actor = "reeve"});
  const auto latest = std::max(terms.runs_before, terms.output_before);
  is_busy_ = is_automatic_ = true;
  ask_store(
      context_.ledger, context_.loop,
      [latest](ledger::Transaction& transaction) { return latest && ledger::is_prune_due(transaction, *latest); },
      [this, retention = config->retention](const std::expected<bool, Error>& is_due) {
        if (!is_due.value_or(false)) return sweep_left();
        begin_order({.retention = retention, .actor = "reeve"}, [this](const std::expected<Result, Error>& result) {
          if (result || result.error().is(ErrorCode::prune_busy)) return;
          context_.log_warning(fmt::format("retention: {}", result.error().message()));
        });
      });
}

void Pruner::prune(Order order, Done done) {
  if (is_automatic_ && !waiting_) {
    waiting_.emplace(std::move(order), std::move(done));
    return;
  }
  if (is_busy_) throw Error(ErrorCode::prune_busy, "this daemon is already pruning", "try again when it has ended");
  begin_order(std::move(order), std::move(done));
}

void Pruner::begin_order(Order order, Done done) {
  is_busy_ = true;
  auto task = std::make_shared<Task>();
  task->terms = make_terms(order);
  task->actor = std::move(order.actor);
  task->done = std::move(done);
  if (task->terms.is_dry_run) return next_batch(task);
  ask_store(
      context_.ledger, context_.loop,
      [actor = task->actor](ledger::Transaction& transaction) { return ledger::begin_prune(transaction, actor); },
      [this, task](const std::expected<std::optional<std::int64_t>, Error>& number) {
        if (!number) return end(task, std::unexpected(number.error()));
        if (!*number) {
          return end(task, std::unexpected(Error(ErrorCode::prune_busy, "another daemon is pruning this store",
                                                 "try again when it has ended")));
        }
        task->number = **number;
        next_batch(task);
      });
}

// Each batch is a transaction of its own, so that other work gets its turn in between.
void Pruner::next_batch(const SharedTask& task) {
  ask_store(
      context_.ledger, context_.loop,
      [terms = task->terms, progress = task->progress, number = task->number](ledger::Transaction& transaction) {
        if (number) ledger::hold_prune(transaction, *number);
        PruneProgress next = ledger::prune_batch(transaction, terms, progress);
        if (number && next.phase == PruneProgress::Phase::done) ledger::end_prune(transaction, *number, next.counts);
        return next;
      },
      [this, task](const std::expected<PruneProgress, Error>& progress) {
        if (!progress) return end(task, std::unexpected(progress.error()));
        task->progress = *progress;
        task->result.counts = progress->counts;
        if (progress->phase != PruneProgress::Phase::done) return next_batch(task);
        if (task->terms.is_dry_run) return end(task, {});
        context_.crash_point("prune.before_files");
        sweep(task, 0);
      });
}

void Pruner::sweep(const SharedTask& task, std::int64_t after) {
  const auto of = store_ == Store::own ? ledger::RemovalsOf::any_host : ledger::RemovalsOf::this_host;
  ask_store(
      context_.ledger, context_.loop,
      [after, of, host = context_.host](ledger::Transaction& transaction) {
        return ledger::list_removals(transaction, host, of, after, removals_at_once);
      },
      [this, task](std::expected<std::vector<Removal>, Error> removals) {
        if (!removals) return end(task, std::unexpected(removals.error()));
        if (removals->empty()) return end(task, {});
        remove(task, std::move(*removals));
      });
}

void Pruner::remove(const SharedTask& task, std::vector<Removal> removals) {
  const std::int64_t first = removals.front().number;
  const std::int64_t last = removals.back().number;
  std::vector<Removal> refs;
  std::erase_if(removals, [&](const Removal& removal) {
    if (removal.kind == RemovalKind::run) return false;
    refs.push_back(removal);
    return true;
  });
  // Objects of the loop are released there.
  auto held = std::make_shared<SharedTask>(task);
  const bool has_begun =
      files_.begin([this, held, refs, last, removals = std::move(removals),
                    runs = context_.folder.runs()](const std::stop_token& stop) -> std::function<void()> {
        std::vector<std::int64_t> done;
        for (const Removal& removal : removals) {
          if (stop.stop_requested()) break;
          std::error_code error;
          std::filesystem::remove_all(runs / base::RunId(removal.subject).text(), error);
          if (!error) done.push_back(removal.number);
        }
        return [this, held, refs, last, done = std::move(done)] {
          context_.loop.post([this, task = std::move(*held), refs, last, done]() mutable {
            task->result.folders += std::ssize(done);
            remove_refs(task, refs, std::move(done), last);
          });
        };
      });
  // The thread is still ending its previous job: reads the same page again in a moment.
  if (has_begun) return;
  context_.loop.after(std::chrono::milliseconds(1), [this, task, first] { sweep(task, first - 1); });
}

// By repository, one after the other. A repository that is gone has no refs; one that cannot be used now is tried again
// with the next prune.
void Pruner::remove_refs(const SharedTask& task, std::vector<Removal> refs, std::vector<std::int64_t> done,
                         std::int64_t last) {
  if (refs.empty()) return forget(task, std::move(done), last);
  const std::string project = refs.front().project;
  std::vector<Isolation::OwnRef> own;
  std::vector<std::int64_t> numbers;
  std::erase_if(refs, [&](const Removal& removal) {
    if (removal.project != project) return false;
    own.push_back({ref_of(removal), removal.commit});
    numbers.push_back(removal.number);
    return true;
  });
  isolation_.delete_refs(
      project, own, [this, task, refs, done, numbers, last](std::expected<void, Error> result) mutable {
        if (result) {
          done.insert(done.end(), numbers.begin(), numbers.end());
          task->result.refs += std::ssize(numbers);
        } else {
          context_.log_warning(fmt::format("retention: branches of executions remain: {}", result.error().message()));
        }
        remove_refs(task, std::move(refs), std::move(done), last);
      });
}

void Pruner::forget(const SharedTask& task, std::vector<std::int64_t> done, std::int64_t last) {
  context_.crash_point("prune.before_forget");
  ask_store(
      context_.ledger, context_.loop,
      [done = std::move(done)](ledger::Transaction& transaction) { ledger::forget_removals(transaction, done); },
      [this, task, last](const std::expected<void, Error>& result) {
        if (!result) return end(task, std::unexpected(result.error()));
        sweep(task, last);
      });
}

void Pruner::end(const SharedTask& task, std::expected<void, Error> result) {
  is_busy_ = is_automatic_ = false;
  if (auto waiting = std::exchange(waiting_, std::nullopt)) {
    begin_order(std::move(waiting->first), std::move(waiting->second));
  }
  if (!result) return task->done(std::unexpected(result.error()));
  task->done(task->result);
}

}  // namespace reeve::runtime
