#include <algorithm>
#include <utility>

#include "runtime/runs/supervisor.h"

// RUN-18: runs that reached a usage limit wait in the queue without a slot, and continue by themselves.
namespace reeve::runtime {

namespace {

// The wall clock may jump meanwhile.
constexpr base::Milliseconds longest_sleep = std::chrono::minutes(1);

}  // namespace

void Supervisor::restore_limited(const std::vector<ledger::LimitedRun>& runs) {
  for (const ledger::LimitedRun& one : runs) {
    limited_.insert_or_assign(
        one.run, Limited{.not_before = one.not_before, .is_paced = one.is_paced, .priority = one.priority});
  }
}

void Supervisor::note_limited(const model::Run& run) {
  const base::RunId id = run.tool_run_id;
  if (run.status != model::RunStatus::queued || !run.not_before) {
    limited_.erase(id);
    return;
  }
  // Reported again, while it is being started.
  if (const auto known = limited_.find(id); known != limited_.end() && known->second.is_due) return;
  if (queue_.suspend(id)) context_.inbox.post(SlotsFreed{});
  const bool is_queued = queue_.contains(id);
  limited_.insert_or_assign(id, Limited{.not_before = *run.not_before,
                                        .is_paced = is_queued || run.node_id.has_value(),
                                        .priority = queue_.priority_of(id)});
  // Posted, because the attempt that has just ended is still known.
  context_.loop.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) continue_limited();
  });
}

void Supervisor::continue_limited() {
  limit_timer_ = {};
  if (!has_begun_queue_) return;
  const base::WallTime now = context_.clock.wall_now();
  base::Milliseconds sleep = longest_sleep;
  bool has_sleepers = false;
  for (auto& [run, limited] : limited_) {
    if (limited.is_due) continue;
    if (limited.not_before > now) {
      has_sleepers = true;
      sleep = std::min(sleep, limited.not_before - now);
      continue;
    }
    limited.is_due = true;
    if (limited.is_paced) {
      queue_.add(run, limited.priority);
    } else {
      taken_.emplace(run, [](const std::expected<model::Run, base::Error>&) {});
      context_.loop.post([this, alive = std::weak_ptr(alive_), id = run] {
        if (!alive.expired()) start_taken(id);
      });
    }
  }
  if (has_sleepers) {
    limit_timer_ = context_.loop.at(context_.loop.now() + sleep, [this] { continue_limited(); });
  }
  start_queued();
}

}  // namespace reeve::runtime
