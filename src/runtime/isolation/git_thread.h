#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <expected>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace reeve::runtime {

// A thread that runs blocking work in request order. All members may be called from any thread.
class GitThread {
 public:
  using Work = std::function<void()>;

  GitThread();
  ~GitThread() { stop(); }
  GitThread(const GitThread&) = delete;
  GitThread& operator=(const GitThread&) = delete;

  // Error: `git.busy` if too much work is waiting.
  [[nodiscard]] std::expected<void, base::Error> submit(Work work);
  // Continues work that was already accepted, so it is never refused.
  void push(Work work);
  // Called by work: waits, but not longer than until stop().
  void pause(base::Milliseconds time);
  bool is_stopping() const noexcept { return is_stopping_; }
  // Whether no work is running or waiting.
  bool is_idle() const noexcept { return unfinished_ == 0; }
  // Waits for the current work; the rest is never run.
  void stop();

 private:
  static constexpr std::size_t max_waiting = 65'536;

  void run();

  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::size_t> unfinished_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  // Declared last: it uses all members above.
  std::thread thread_;
};

}  // namespace reeve::runtime
