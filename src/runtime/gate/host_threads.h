#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "runtime/loop/work_thread.h"

namespace reeve::runtime {

// A few threads for what the tool host does, so that one slow call does not delay all others. Called on the loop.
class HostThreads {
 public:
  void submit(std::function<void()> work) {
    threads_.at(next_).submit(std::move(work));
    next_ = (next_ + 1) % threads_.size();
  }

 private:
  static constexpr std::size_t count = 4;

  std::size_t next_ = 0;
  std::array<WorkThread, count> threads_;
};

}  // namespace reeve::runtime
