#pragma once

#include <optional>

#include "base/clock.h"

namespace reeve::adapter {

// Some agents repeat a refused request to their model for ever, and say nothing else (RUN-18).
class RetryWatch {
 public:
  static constexpr int max_retries = 5;
  static constexpr std::chrono::seconds max_time{120};

  // True if the agent does nothing but retry.
  bool on_retry(base::BootTime now) {
    if (!since_) since_ = now;
    ++retries_;
    return retries_ >= max_retries || now - *since_ >= max_time;
  }
  void on_progress() {
    retries_ = 0;
    since_.reset();
  }

 private:
  int retries_ = 0;
  std::optional<base::BootTime> since_;
};

}  // namespace reeve::adapter
