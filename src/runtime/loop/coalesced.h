#pragma once

#include <utility>

#include "base/error.h"

namespace reeve::runtime {

// One request at a time; if it is asked for again meanwhile, it runs once more afterwards, because the running one may
// miss what happened since it began. Lives on the loop.
//
//   if (!reading_.begin()) return;
//   ask_store(…, [this](const auto& answer) {
//     const bool must_repeat = reading_.end();
//     …
//     if (must_repeat) read();
//   });
class Coalesced {
 public:
  // False: one is running, and its end() will be true.
  [[nodiscard]] bool begin() noexcept {
    if (std::exchange(is_running_, true)) {
      must_repeat_ = true;
      return false;
    }
    return true;
  }

  // The running request is over. Returns whether it was asked for meanwhile; the caller begins the next one.
  bool end() {
    REEVE_ASSERT(is_running_);
    is_running_ = false;
    return std::exchange(must_repeat_, false);
  }

  bool is_running() const noexcept { return is_running_; }

 private:
  bool is_running_ = false;
  bool must_repeat_ = false;
};

}  // namespace reeve::runtime
