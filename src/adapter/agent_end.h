#pragma once

#include <csignal>
#include <optional>

#include "base/clock.h"

namespace reeve::adapter {

// How the agent's processes are ended: they have a while to end by themselves, then SIGTERM, then SIGKILL.
class AgentEnd {
 public:
  static constexpr std::chrono::seconds terminate_time{5};

  AgentEnd(base::BootTime now, base::Milliseconds patience) : next_(now + patience) {}

  // The signal that is due now, each once.
  std::optional<int> take_due(base::BootTime now) {
    if (!next_ || now < *next_) return std::nullopt;
    const int number = has_terminated_ ? SIGKILL : SIGTERM;
    next_.reset();
    if (!has_terminated_) next_ = now + terminate_time;
    has_terminated_ = true;
    return number;
  }
  // No more patience.
  void hurry(base::BootTime now) {
    if (!has_terminated_) next_ = now;
  }
  std::optional<base::BootTime> next() const noexcept { return next_; }

 private:
  std::optional<base::BootTime> next_;
  bool has_terminated_ = false;
};

}  // namespace reeve::adapter
