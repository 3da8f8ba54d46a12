#include "runtime/loop/loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <thread>
#include <unordered_map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include "base/error.h"
#include "os/fd.h"

namespace reeve::runtime {

namespace {

using base::ErrorCode;

namespace asio = boost::asio;

os::Fd checked(int fd, std::string_view doing) {
  if (fd < 0) base::throw_errno(ErrorCode::os_failed, doing, errno, "raise the limit of open files (ulimit -n)");
  return os::Fd(fd);
}

// Watched descriptors in a separate epoll, which Asio watches in turn. Asio's own descriptor objects would make them
// non-blocking, and with them everything that shares the open file description.
class Watches {
 public:
  Watches() : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "cannot wait for descriptors")) {}

  std::uint64_t add(int fd, Loop::Task ready) {
    const std::uint64_t id = next_id_++;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      base::throw_errno(ErrorCode::os_failed, "cannot wait for a descriptor", errno);
    }
    watches_.emplace(id, Watch{fd, std::make_shared<Loop::Task>(std::move(ready))});
    return id;
  }

  void remove(std::uint64_t id) {
    const auto found = watches_.find(id);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
    // Destroyed last: objects held by the task may call back into this when destroyed.
    const auto task = std::move(found->second.ready);
    watches_.erase(found);
  }

  // Calls the ready tasks. If one throws, the others are still ready next time.
  void turn() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      // Copied, because the kernel's struct is packed.
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      const auto found = watches_.find(id);
      // An earlier task of this turn may have removed it.
      if (found == watches_.end()) continue;
      const auto task = found->second.ready;
      (*task)();
    }
  }

  int fd() const noexcept { return epoll_.get(); }

 private:
  struct Watch {
    int fd;
    // Shared with the call, so that a task can end its own watch.
    std::shared_ptr<Loop::Task> ready;
  };

  os::Fd epoll_;
  std::uint64_t next_id_ = 0;
  std::unordered_map<std::uint64_t, Watch> watches_;
};

// Tasks by time; a timerfd is set to the earliest.
class Timers {
 public:
  using Key = std::pair<base::BootTime, std::uint64_t>;

  Timers() : fd_(checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "cannot create a timer")) {}

  Key add(base::BootTime when, Loop::Task task) {
    const Key key{when, next_id_++};
    tasks_.emplace(key, std::move(task));
    if (when < armed_) arm(when);
    return key;
  }

  // The timerfd is left as it is: timers are mostly cancelled and recreated, and one spurious wake-up is cheaper than a
  // system call each time.
  void remove(const Key& key) { const auto gone = tasks_.extract(key); }

  void turn(base::BootTime now) {
    std::uint64_t count = 0;
    if (::read(fd_.get(), &count, sizeof count) > 0) armed_ = base::BootTime::max();
    // Timers added during this turn wait for the next; otherwise a task that re-adds itself would never let it end.
    const std::uint64_t first_new = next_id_;
    try {
      while (!tasks_.empty() && tasks_.begin()->first.first <= now && tasks_.begin()->first.second < first_new) {
        const auto due = tasks_.extract(tasks_.begin());
        due.mapped()();
      }
    } catch (...) {
      rearm();
      throw;
    }
    rearm();
  }

  int fd() const noexcept { return fd_.get(); }

 private:
  void rearm() {
    if (!tasks_.empty() && tasks_.begin()->first.first < armed_) arm(tasks_.begin()->first.first);
  }

  void arm(base::BootTime when) {
    // Zero would disarm it.
    const auto since_boot = std::max(when.time_since_epoch(), std::chrono::nanoseconds(1));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    itimerspec at{};
    at.it_value.tv_sec = seconds.count();
    at.it_value.tv_nsec = (since_boot - seconds).count();
    REEVE_ASSERT(::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &at, nullptr) == 0);
    armed_ = when;
  }

  os::Fd fd_;
  base::BootTime armed_ = base::BootTime::max();
  std::uint64_t next_id_ = 0;
  std::map<Key, Loop::Task> tasks_;
};

// Referenced by holds, which may outlive the loop.
struct Waiting {
  Watches watches;
  Timers timers;
};

}  // namespace

// Shared with holds and owned objects, which may outlive the loop.
class Loop::Home {
 public:
  explicit Home(Core& core) : core_(&core) {}

  bool is_here() const noexcept { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void enter() {
    REEVE_ASSERT(!is_running_.exchange(true));
    thread_ = std::this_thread::get_id();
  }
  void leave() {
    thread_ = maker_;
    is_running_ = false;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    core_ = nullptr;
  }
  // False: the loop is gone.
  bool post(Task& task);

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<std::thread::id> thread_ = maker_;
  std::atomic<bool> is_running_ = false;
  std::mutex mutex_;
  Core* core_;
};

struct Loop::Core {
  Core() : epoll(context, waiting->watches.fd()) {
    waiting->watches.add(waiting->timers.fd(), [this] { waiting->timers.turn(clock.boot_now()); });
    wait();
  }
  // Otherwise Asio would close the descriptor.
  ~Core() { epoll.release(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Always pending, which also keeps run() from returning.
  void wait() {
    epoll.async_wait(asio::posix::descriptor_base::wait_read, [this](const boost::system::error_code& error) {
      REEVE_ASSERT(!error);
      // Rearmed before the tasks run, so that a task that throws does not end it.
      wait();
      waiting->watches.turn();
    });
  }

  // Moved throughout: nothing that the task owns is destroyed on the posting thread.
  void post(Task task) {
    posted.fetch_add(1, std::memory_order_relaxed);
    asio::post(context, [this, task = std::move(task)] {
      posted.fetch_sub(1, std::memory_order_relaxed);
      task();
    });
  }

  base::SystemClock clock;
  std::atomic<std::size_t> posted = 0;
  std::shared_ptr<Waiting> waiting = std::make_shared<Waiting>();
  asio::io_context context;
  asio::posix::stream_descriptor epoll;
};

bool Loop::Home::post(Task& task) {
  const std::lock_guard lock(mutex_);
  if (core_ == nullptr) return false;
  core_->post(std::move(task));
  return true;
}

Loop::Loop() : core_(std::make_unique<Core>()) { home_ = std::make_shared<Home>(*core_); }

Loop::~Loop() {
  REEVE_ASSERT(is_here());
  home_->close();
}

bool Loop::is_home(const std::shared_ptr<Home>& home) noexcept { return home->is_here(); }

bool Loop::is_here() const noexcept { return home_->is_here(); }

void Loop::finish(const std::shared_ptr<Home>& home, Task end) {
  if (home->is_here()) return end();
  home->post(end);
}

void Loop::run() {
  home_->enter();
  struct Leave {
    Home& home;
    ~Leave() { home.leave(); }
  } const leave{*home_};
  core_->context.run();
  // After run(), so that a stop() before run() is not lost.
  core_->context.restart();
}

void Loop::stop() { core_->context.stop(); }

void Loop::post(Task task) { core_->post(std::move(task)); }

std::size_t Loop::waiting() const noexcept { return core_->posted.load(std::memory_order_relaxed); }

Loop::Hold Loop::watch(int fd, Task ready) {
  REEVE_ASSERT(is_here());
  const std::uint64_t id = core_->waiting->watches.add(fd, std::move(ready));
  return {*this, [waiting = std::weak_ptr(core_->waiting), id] {
            if (const auto alive = waiting.lock()) alive->watches.remove(id);
          }};
}

Loop::Hold Loop::at(base::BootTime when, Task task) {
  REEVE_ASSERT(is_here());
  const Timers::Key key = core_->waiting->timers.add(when, std::move(task));
  return {*this, [waiting = std::weak_ptr(core_->waiting), key] {
            if (const auto alive = waiting.lock()) alive->timers.remove(key);
          }};
}

void Loop::after(base::Milliseconds delay, Task task) {
  REEVE_ASSERT(is_here());
  core_->waiting->timers.add(now() + delay, std::move(task));
}

base::BootTime Loop::now() const {
  REEVE_ASSERT(is_here());
  return core_->clock.boot_now();
}

boost::asio::io_context& Loop::context() noexcept {
  REEVE_ASSERT(is_here());
  return core_->context;
}

}  // namespace reeve::runtime
