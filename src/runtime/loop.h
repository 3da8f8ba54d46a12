#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace boost::asio {
class io_context;
}

namespace reeve::runtime {

// The one thread that owns all mutable state of the daemon. Everything but post(), stop() and waiting() is called on
// its thread, which is asserted, and all that it calls back is called there. Objects of the loop may be let go of on
// any thread: they are destroyed on the loop's. That is the thread in run(); before and after run(), the one that made
// the loop.
class Loop {
  class Home;

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

  // Whether the caller is on the loop's thread. From any thread.
  bool is_here() const noexcept;

  // Ends what it stands for when it is destroyed; after that nothing is called any more. Destroyed on another thread it
  // posts its end.
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

  // Destroys an object on the loop, whichever thread lets go of it.
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
  // Becomes a std::shared_ptr when it is to be shared.
  template <class T>
  using Own = std::unique_ptr<T, Release<T>>;
  // From any thread.
  template <class T, class... Args>
  Own<T> make(Args&&... args) const {
    return Own<T>(new T(std::forward<Args>(args)...), Release<T>{home_});
  }

  // Calls whenever the descriptor is readable (or at its end), until the hold is gone. The descriptor stays the
  // caller's, as it is, and must stay open as long; one watch at a time. `ready` may destroy the hold.
  [[nodiscard]] Hold watch(int fd, Task ready);
  // Calls once, not before that time by BOOTTIME, which goes on while the machine sleeps.
  [[nodiscard]] Hold at(base::BootTime when, Task task);

  base::BootTime now() const;
  // For those who speak Asio themselves.
  boost::asio::io_context& context() noexcept;

 private:
  static bool is_home(const std::shared_ptr<Home>& home) noexcept;
  // At once on the loop's thread, else posted. When the loop is gone, there is nothing left to end: the task is
  // dropped.
  static void finish(const std::shared_ptr<Home>& home, Task end);

  struct Core;
  std::shared_ptr<Home> home_;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::runtime
