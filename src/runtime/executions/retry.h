#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// If the outcome of a transaction is unknown, nodes claimed in it would never be started. The exception ends the
// daemon, and the next one reads the actual state.
inline void rethrow_unknown_commit(const std::optional<base::Error>& error) {
  if (error && error->is(base::ErrorCode::store_unknown_outcome)) throw *error;
}
inline bool is_of_store(const base::Error& error) { return error.is_in(base::ErrorArea::store); }

// Repeats work that failed because the store was unreachable, after a pause; nothing is repeated once this object is
// gone. Lives on the loop.
class RetryAfterPause {
 public:
  explicit RetryAfterPause(Loop& loop) : loop_(loop) {}

  void later(std::function<void()> again) {
    loop_.after(pause, [alive = std::weak_ptr(alive_), again = std::move(again)] {
      if (!alive.expired()) again();
    });
  }

 private:
  static constexpr base::Milliseconds pause = std::chrono::seconds(1);

  Loop& loop_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

// When to retry what failed for an execution; the pause doubles each time.
class RetryPauses {
 public:
  explicit RetryPauses(const Loop& loop) : loop_(loop) {}

  void put_off(base::ExecutionId execution) {
    Pause& pause = pauses_[execution];
    pause.until = loop_.now() + pause.length;
    pause.length = std::min(2 * pause.length, longest);
  }
  bool is_due(base::ExecutionId execution) const {
    const auto found = pauses_.find(execution);
    return found == pauses_.end() || found->second.until <= loop_.now();
  }
  void erase(base::ExecutionId execution) { pauses_.erase(execution); }
  // Forgets all others.
  void keep_only(const std::vector<base::ExecutionId>& kept) {
    std::erase_if(pauses_, [&](const auto& entry) { return std::ranges::find(kept, entry.first) == kept.end(); });
  }

 private:
  static constexpr base::Milliseconds longest = std::chrono::minutes(5);
  struct Pause {
    base::BootTime until;
    base::Milliseconds length = std::chrono::seconds(1);
  };

  const Loop& loop_;
  std::map<base::ExecutionId, Pause> pauses_;
};

}  // namespace reeve::runtime
