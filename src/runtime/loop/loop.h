#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace boost::asio {
class io_context;
}

namespace reeve::runtime {

// The thread that owns all mutable state of the daemon. Everything except post(), stop() and waiting() must be called
// on it, which is asserted, and all callbacks run on it. Objects of the loop may be released on any thread; they are
// destroyed on the loop's. That is the thread in run(); before and after run(), it is the one that created the loop.
class Loop {
  class Home;

 public:
  using Task = std::function<void()>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(). Exceptions thrown by tasks propagate from here.
  void run();
  // From any thread.
  void stop();
  // From any thread: runs the task soon, in the order of the posts.
  void post(Task task);
  // From any thread: the number of posted tasks that have not run yet.
  std::size_t waiting() const noexcept;

  // Whether the caller is on the loop's thread. From any thread.
  bool is_here() const noexcept;

  // A registration that ends when destroyed; nothing is called after that. If destroyed on another thread, its end is
  // posted to the loop.
  class Hold {
   public:
    Hold() noexcept = default;
    Hold(const Loop& loop, Task end) : home_(loop.home_), end_(std::move(end)) {}
    Hold(Hold&& other) noexcept : home_(std::move(other.home_)), end_(std::exchange(other.end_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(home_, other.home_);
      std::swap(end_, other.end_);
      return *this;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (end_) finish(home_, std::move(end_));
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }

   private:
    std::shared_ptr<Home> home_;
    Task end_;
  };

  // Destroys an object on the loop, whichever thread releases it.
  template <class T>
  struct Release {
    std::shared_ptr<Home> home;

    void operator()(T* object) const {
      if (is_home(home)) {
        delete object;
      } else {
        finish(home, [owned = std::shared_ptr<T>(object)] {});
      }
    }
  };
  // Convertible to std::shared_ptr.
  template <class T>
  using Own = std::unique_ptr<T, Release<T>>;
  // From any thread.
  template <class T, class... Args>
  Own<T> make(Args&&... args) const {
    return Own<T>(new T(std::forward<Args>(args)...), Release<T>{home_});
  }

  // Calls `ready` whenever the descriptor is readable or at its end, until the hold is destroyed. The descriptor
  // remains the caller's, unchanged, and must stay open for as long; one watch per descriptor. `ready` may destroy the
  // hold.
  [[nodiscard]] Hold watch(int fd, Task ready);
  // Calls once, not before that time on BOOTTIME, which includes time spent asleep.
  [[nodiscard]] Hold at(base::BootTime when, Task task);
  // Calls once, not before the delay has passed on BOOTTIME. Cannot be cancelled: a task that uses an object must check
  // that the object still exists. Destroyed with the loop if it has not run.
  void after(base::Milliseconds delay, Task task);

  base::BootTime now() const;
  // For components that use Asio directly.
  boost::asio::io_context& context() noexcept;

 private:
  static bool is_home(const std::shared_ptr<Home>& home) noexcept;
  // Runs the task at once on the loop's thread, otherwise posts it. Without a loop there is nothing left to end, and
  // the task is dropped.
  static void finish(const std::shared_ptr<Home>& home, Task end);

  struct Core;
  std::shared_ptr<Home> home_;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::runtime
