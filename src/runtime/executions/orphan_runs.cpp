#include "runtime/executions/orphan_runs.h"

#include <algorithm>
#include <utility>

#include "runtime/loop/store_task.h"

namespace reeve::runtime {

using base::Error;
using ledger::Transaction;

namespace {

constexpr std::int64_t max_orphans = 10'000;

}  // namespace

void OrphanRuns::find(std::function<void(Found)> then) {
  const base::Milliseconds grace = context_.supervision.adopt_grace;
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host, grace](Transaction& transaction) {
        return ledger::find_orphans(transaction, host, transaction.now() - grace - grace / 4, max_orphans);
      },
      std::move(then));
}

void OrphanRuns::end_all(std::function<void()> done) {
  find([this, done](const Found& orphans) {
    if (!orphans) return retry_.later([this, done] { end_all(done); });
    auto left = std::make_shared<std::size_t>(1);
    const auto one_less = [left, done] {
      if (--*left == 0) done();
    };
    for (const ledger::Orphan& orphan : *orphans) {
      ++*left;
      end(orphan, one_less);
    }
    one_less();
  });
}

// Failures are picked up by the next poll.
void OrphanRuns::end(const ledger::Orphan& orphan, std::function<void()> done) {
  if (!orphan.lost) {
    return supervisor_.cancel_and_wait(orphan.run, {.by = "reeve", .reason = "its node has ended"}, done);
  }
  ask_store(
      context_.ledger, context_.loop,
      [orphan](Transaction& transaction) { return ledger::end_lost_orphan(transaction, orphan); },
      [done](const std::expected<bool, Error>&) { done(); });
}

void OrphanRuns::poll(const std::function<bool(base::RunId)>& is_held) {
  const base::BootTime now = context_.loop.now();
  if (is_reading_ || now < next_here_) return context_.ledger.report_next_poll();
  const auto runs = supervisor_.find_runs_of_nodes();
  const bool has_stray = std::ranges::any_of(runs, [&](base::RunId run) { return !is_held(run); });
  // Runs of dead hosts are visible only in the store.
  const bool is_due = context_.lease && now >= next_elsewhere_;
  if (!has_stray && !is_due) return;
  // Until no run is stray: nothing else reports that ending one failed.
  context_.ledger.report_next_poll();
  next_here_ = now + context_.supervision.poll_interval;
  next_elsewhere_ = now + std::max(context_.supervision.poll_interval, context_.supervision.lease);
  is_reading_ = true;
  find([this](const Found& orphans) {
    is_reading_ = false;
    if (!orphans) return;
    for (const ledger::Orphan& orphan : *orphans) end(orphan, [] {});
  });
}

}  // namespace reeve::runtime
