#pragma once

#include <optional>

#include "base/clock.h"
#include "os/tree.h"

namespace reeve::runtime {

// When a process tree last used CPU or I/O, as far as samples of it show: at most one interval late.
class ActivityClock {
 public:
  static constexpr base::Milliseconds interval = std::chrono::seconds(15);

  void note(const os::TreeActivity& seen, base::WallTime now) {
    const bool is_active = !seen_ || seen.cpu > seen_->cpu || seen.io_bytes > seen_->io_bytes;
    // The end of a process makes the sums smaller, and is activity as well.
    const bool has_shrunk = seen_ && (seen.cpu < seen_->cpu || seen.io_bytes < seen_->io_bytes);
    if (is_active || has_shrunk) last_ = now;
    seen_ = seen;
  }
  std::optional<base::WallTime> last() const noexcept { return last_; }

 private:
  std::optional<os::TreeActivity> seen_;
  std::optional<base::WallTime> last_;
};

}  // namespace reeve::runtime
