#pragma once

#include <optional>
#include <sys/types.h>

#include "base/clock.h"
#include "os/tree.h"
#include "runtime/loop/loop.h"
#include "runtime/runs/activity_clock.h"

namespace reeve::runtime {

// Measures the process tree of an attempt, at least once per interval while it lives, so that the time of its last
// activity is known. Lives on the loop.
class ActivitySampler {
 public:
  ActivitySampler(Loop& loop, const base::Clock& clock, pid_t keeper) noexcept
      : loop_(loop), clock_(clock), keeper_(keeper) {}

  void begin() {
    next_ = loop_.at(loop_.now() + ActivityClock::interval, [this] {
      sample();
      begin();
    });
  }
  void end() { next_ = {}; }

  os::TreeActivity sample() {
    const os::TreeActivity activity = os::measure_activity(keeper_);
    seen_.note(activity, clock_.wall_now());
    return activity;
  }
  std::optional<base::WallTime> last() const noexcept { return seen_.last(); }

 private:
  Loop& loop_;
  const base::Clock& clock_;
  pid_t keeper_;
  ActivityClock seen_;
  Loop::Hold next_;
};

}  // namespace reeve::runtime
