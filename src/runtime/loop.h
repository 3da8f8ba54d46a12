#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace boost::asio {
class io_context;
}

namespace reeve::runtime {

// The one thread that owns all mutable state of the daemon. Everything but post() and stop() is called on it, and all
// that it calls back is called on it.
class Loop {
 public:
  using Task = std::function<void()>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Until stop(). What a task throws comes out here.
  void run();
  // From any thread.
  void stop();
  // From any thread: runs the task soon, in the order of the posts.
  void post(Task task);
  // From any thread: how many posted tasks have not had their turn yet.
  std::size_t waiting() const noexcept;

  // Ends what it stands for when it is destroyed; after that nothing is called any more.
  class Hold {
   public:
    Hold() noexcept = default;
    explicit Hold(std::function<void()> end) : end_(std::move(end)) {}
    Hold(Hold&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(end_, other.end_);
      return *this;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (end_) end_();
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }

   private:
    std::function<void()> end_;
  };

  // Calls whenever the descriptor is readable (or at its end), until the hold is gone. The descriptor stays the
  // caller's, as it is, and must stay open as long; one watch at a time. `ready` may destroy the hold.
  [[nodiscard]] Hold watch(int fd, Task ready);
  // Calls once, not before that time by BOOTTIME, which goes on while the machine sleeps.
  [[nodiscard]] Hold at(base::BootTime when, Task task);

  base::BootTime now() const;
  // For those who speak Asio themselves.
  boost::asio::io_context& context() noexcept;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::runtime
