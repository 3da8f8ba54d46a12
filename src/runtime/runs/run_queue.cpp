#include "runtime/runs/run_queue.h"

namespace reeve::runtime {

using model::RunStatus;

int RunQueue::priority_of(base::RunId run) const {
  const auto found = priorities_.find(run);
  return found != priorities_.end() ? found->second : 0;
}

RunQueue::Place RunQueue::place_of(base::RunId run) const { return {-priority_of(run), run.number()}; }

void RunQueue::add(base::RunId run, int priority) {
  priorities_.insert_or_assign(run, priority);
  waiting_.insert(place_of(run));
}

void RunQueue::add_started(base::RunId run, RunStatus status) {
  priorities_.emplace(run, 0);
  on_status(run, status);
}

void RunQueue::remove(base::RunId run) {
  suspend(run);
  priorities_.erase(run);
}

std::optional<base::RunId> RunQueue::take() {
  if (waiting_.empty() || busy_.size() + others_() >= max_runs_) return std::nullopt;
  const base::RunId run(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  busy_.insert(run);
  return run;
}

bool RunQueue::on_status(base::RunId run, RunStatus status) {
  if (!priorities_.contains(run) || status == RunStatus::queued) return false;
  waiting_.erase(place_of(run));
  const bool is_alive = status == RunStatus::running || status == RunStatus::stalled;
  if (is_alive) {
    // Also beyond the limit: an answered run continues at once.
    busy_.insert(run);
    return false;
  }
  if (is_final(status)) priorities_.erase(run);
  return busy_.erase(run) > 0;
}

}  // namespace reeve::runtime
