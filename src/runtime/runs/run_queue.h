#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/id.h"
#include "model/run.h"

namespace reeve::runtime {

// The runs of people that obey `max_parallel_runs` (RUN-14): which ones use a slot, and which one starts next. They
// share the limit with the runs of nodes and go first, because a person's queue ends while an execution may not. The
// store knows these runs too, so that the next daemon continues with the same queue.
class RunQueue {
 public:
  explicit RunQueue(std::size_t max_runs) : max_runs_(max_runs) {}

  // The slots that are used by others.
  void set_others(std::function<std::size_t()> count) { others_ = std::move(count); }
  // How many slots its runs use.
  std::size_t busy() const noexcept { return busy_.size(); }

  // A run that waits for its turn.
  void add(base::RunId run, int priority);
  // A run that an earlier daemon started.
  void add_started(base::RunId run, model::RunStatus status);
  // A run that this queue knows; others do not obey the limit.
  bool contains(base::RunId run) const noexcept { return priorities_.contains(run); }
  // A run goes back to the queue for a while (RUN-18): it uses no slot until it is added again. True if a slot became
  // free.
  bool suspend(base::RunId run) { return waiting_.erase(place_of(run)) + busy_.erase(run) > 0; }
  // 0 for a run that it does not know.
  int priority_of(base::RunId run) const;
  // Its slot is counted elsewhere from now on.
  void remove(base::RunId run);
  // The first run by priority, then in order, if there is a slot for it; it uses the slot from now on.
  std::optional<base::RunId> take();
  // A run that waits for an approval, and one that has ended, use no slot. True if a slot became free.
  bool on_status(base::RunId run, model::RunStatus status);

 private:
  // Lower is earlier.
  using Place = std::pair<int, std::int64_t>;
  Place place_of(base::RunId run) const;

  std::size_t max_runs_;
  std::function<std::size_t()> others_ = [] { return 0UZ; };
  // The priorities of all runs that have not ended.
  std::map<base::RunId, int> priorities_;
  std::set<Place> waiting_;
  std::set<base::RunId> busy_;
};

}  // namespace reeve::runtime
