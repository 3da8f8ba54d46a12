#include "runtime/loop/loop.h"

#include <atomic>
#include <fcntl.h>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "os/spawn.h"

namespace reeve::runtime {
namespace {

using namespace std::chrono_literals;

void put(const os::Fd& fd, std::string_view text) {
  ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(Loop, posts_run_in_their_order_from_any_thread) {
  Loop loop;
  std::vector<int> seen;
  loop.post([&] { seen.push_back(1); });
  std::jthread other;
  loop.post([&] {
    seen.push_back(2);
    loop.post([&] { seen.push_back(3); });
    // The other thread's post comes after the one above, although this task is still running.
    other = std::jthread([&] { loop.post([&] { seen.push_back(4), loop.stop(); }); });
    other.join();
  });
  loop.run();
  EXPECT_EQ(seen, (std::vector{1, 2, 3, 4}));
}

TEST(Loop, a_stop_before_the_run_is_not_lost) {
  Loop loop;
  loop.stop();
  loop.run();
  loop.post([&] { loop.stop(); });
  loop.run();
}

TEST(Loop, exception_leaves_run_and_no_task_is_lost) {
  Loop loop;
  const os::Pipe pipe = os::make_pipe();
  int reads = 0;
  const Loop::Hold watch = loop.watch(pipe.read.get(), [&] {
    if (++reads == 1) throw std::runtime_error("watch");
    loop.stop();
  });
  bool later = false;
  const Loop::Hold bad = loop.at(loop.now(), [] { throw std::runtime_error("timer"); });
  const Loop::Hold good = loop.at(loop.now() + 1ms, [&] { later = true, put(pipe.write, "x"); });
  loop.post([] { throw base::Error(base::ErrorCode::os_failed, "post"); });
  EXPECT_THROW(loop.run(), base::Error);
  EXPECT_THROW(loop.run(), std::runtime_error);
  EXPECT_THROW(loop.run(), std::runtime_error);
  EXPECT_TRUE(later);
  loop.run();
  EXPECT_EQ(reads, 2);
}

TEST(Loop, timers_fire_in_order_and_never_early) {
  Loop loop;
  const base::BootTime start = loop.now();
  std::string order;
  const auto note = [&](char name, Loop::Hold& self) {
    order += name;
    self = {};
  };
  Loop::Hold a;
  Loop::Hold b;
  Loop::Hold c;
  Loop::Hold past;
  const Loop::Hold last = loop.at(start + 30ms, [&] {
    EXPECT_GE(loop.now(), start + 30ms);
    loop.stop();
  });
  b = loop.at(start + 20ms, [&] { note('b', b); });
  a = loop.at(start + 10ms, [&] { note('a', a); });
  c = loop.at(start + 20ms, [&] { note('c', c); });
  past = loop.at(base::BootTime(), [&] { note('p', past); });
  const Loop::Hold never = loop.at(base::BootTime::max(), [&] { order += '!'; });
  loop.run();
  EXPECT_EQ(order, "pabc");
}

TEST(Loop, task_after_a_delay_runs_once_and_never_early) {
  Loop loop;
  const base::BootTime start = loop.now();
  int calls = 0;
  loop.after(10ms, [&] {
    ++calls;
    EXPECT_GE(loop.now(), start + 10ms);
    loop.after(10ms, [&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(calls, 1);
  EXPECT_GE(loop.now(), start + 20ms);
}

TEST(Loop, task_after_a_delay_is_destroyed_once_it_ran_or_with_the_loop) {
  auto done = std::make_shared<int>(0);
  auto pending = std::make_shared<int>(0);
  const std::weak_ptr seen_done = done;
  const std::weak_ptr seen_pending = pending;
  {
    Loop loop;
    loop.after(0ms, [done] {});
    loop.after(1ms, [&loop] { loop.stop(); });
    loop.after(1h, [pending] { ADD_FAILURE() << "its time has not come"; });
    done.reset();
    pending.reset();
    loop.run();
    EXPECT_TRUE(seen_done.expired());
    EXPECT_FALSE(seen_pending.expired());
  }
  EXPECT_TRUE(seen_pending.expired());
}

TEST(Loop, destroyed_hold_is_never_called) {
  Loop loop;
  const base::BootTime soon = loop.now() + 5ms;
  const os::Pipe one = os::make_pipe();
  const os::Pipe two = os::make_pipe();
  bool called = false;
  Loop::Hold second = loop.at(soon + 1ns, [&] { called = true; });
  // Both descriptors are ready in the same turn: the first one called ends the other.
  int watched = 0;
  Loop::Hold left;
  Loop::Hold right;
  left = loop.watch(one.read.get(), [&] { ++watched, right = {}, left = {}; });
  right = loop.watch(two.read.get(), [&] { ++watched, left = {}, right = {}; });
  const Loop::Hold first = loop.at(soon, [&] {
    second = {};
    put(one.write, "x");
    put(two.write, "x");
  });
  const Loop::Hold end = loop.at(soon + 20ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(called);
  EXPECT_EQ(watched, 1);
}

TEST(Loop, rearmed_timer_does_not_starve_watches) {
  Loop loop;
  Loop::Hold again;
  std::function<void()> repeat = [&] { again = loop.at(base::BootTime(), repeat); };
  repeat();
  const os::Pipe pipe = os::make_pipe();
  put(pipe.write, "x");
  const Loop::Hold watch = loop.watch(pipe.read.get(), [&] { loop.stop(); });
  loop.run();
}

TEST(Loop, watch_is_called_until_drained_and_keeps_the_descriptor) {
  Loop loop;
  os::Pipe pipe = os::make_pipe();
  const int flags = ::fcntl(pipe.read.get(), F_GETFL);
  put(pipe.write, "abc");
  std::string text;
  Loop::Hold watch = loop.watch(pipe.read.get(), [&] {
    char sign = 0;
    if (::read(pipe.read.get(), &sign, 1) == 1) {
      text += sign;
    } else {
      loop.stop();
    }
    if (text.size() == 3) pipe.write = os::Fd();
  });
  loop.run();
  EXPECT_EQ(text, "abc");
  EXPECT_EQ(::fcntl(pipe.read.get(), F_GETFL), flags);
  watch = {};
  EXPECT_GE(::fcntl(pipe.read.get(), F_GETFD), 0) << "the descriptor stays open";
  EXPECT_TRUE(loop.watch(pipe.read.get(), [] {})) << "and can be watched again";
}

TEST(Loop, rejects_descriptors_that_cannot_be_polled) {
  Loop loop;
  const os::Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_THROW(auto hold = loop.watch(file.get(), [] {}), base::Error);
  EXPECT_THROW(auto hold = loop.watch(-1, [] {}), base::Error);
}

TEST(Loop, holds_can_outlive_the_loop_and_own_each_other) {
  Loop::Hold outer;
  const os::Pipe pipe = os::make_pipe();
  {
    Loop loop;
    outer = loop.watch(pipe.read.get(), [] {});
    auto inner = std::make_shared<Loop::Hold>(loop.at(loop.now() + 1h, [] {}));
    auto nested = std::make_shared<Loop::Hold>(loop.at(loop.now() + 1h, [inner] {}));
    loop.post([nested] {});
  }
  outer = {};
}

// The thread on which it was destroyed.
struct Probe {
  explicit Probe(std::atomic<std::thread::id>& where) : destroyed_at(where) {}
  ~Probe() { destroyed_at = std::this_thread::get_id(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  std::atomic<std::thread::id>& destroyed_at;
};

TEST(Loop, hold_dropped_on_another_thread_ends_on_the_loop) {
  Loop loop;
  const os::Pipe pipe = os::make_pipe();
  std::atomic<std::thread::id> destroyed_at;
  Loop::Hold hold = loop.watch(pipe.read.get(), [probe = std::make_shared<Probe>(destroyed_at)] {});
  std::jthread other;
  loop.post([&] {
    other = std::jthread([hold = std::move(hold)]() mutable { hold = {}; });
    other.join();
    EXPECT_EQ(destroyed_at.load(), std::thread::id()) << "not while the loop does something else";
    loop.post([&] { loop.stop(); });
  });
  loop.run();
  EXPECT_EQ(destroyed_at.load(), std::this_thread::get_id());
  EXPECT_TRUE(loop.watch(pipe.read.get(), [] {})) << "it can be watched again";
}

TEST(Loop, owned_object_is_destroyed_on_the_loop) {
  std::atomic<std::thread::id> at_once;
  std::atomic<std::thread::id> later;
  std::atomic<std::thread::id> after_its_stop;
  {
    Loop loop;
    {
      const Loop::Own<Probe> own = loop.make<Probe>(at_once);
    }
    EXPECT_EQ(at_once.load(), std::this_thread::get_id()) << "at once where that is the loop's thread";
    std::thread([shared = std::shared_ptr<Probe>(loop.make<Probe>(later))] {}).join();
    EXPECT_EQ(later.load(), std::thread::id());
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(later.load(), std::this_thread::get_id());
    std::thread([own = loop.make<Probe>(after_its_stop)] {}).join();
    EXPECT_EQ(after_its_stop.load(), std::thread::id());
  }
  EXPECT_EQ(after_its_stop.load(), std::this_thread::get_id()) << "by the thread that ends it";
}

TEST(Loop, holds_and_owned_objects_can_outlive_the_loop) {
  const os::Pipe pipe = os::make_pipe();
  std::atomic<std::thread::id> destroyed_at;
  Loop::Hold hold;
  Loop::Own<Probe> own;
  {
    Loop loop;
    hold = loop.watch(pipe.read.get(), [] {});
    own = loop.make<Probe>(destroyed_at);
  }
  std::thread([hold = std::move(hold), own = std::move(own)] {}).join();
  EXPECT_NE(destroyed_at.load(), std::thread::id()) << "nothing leaks";
}

TEST(LoopDeathTest, use_from_another_thread_aborts) {
  Loop loop;
  const os::Pipe pipe = os::make_pipe();
  const auto elsewhere = [](const auto& act) { std::thread(act).join(); };
  EXPECT_DEATH(elsewhere([&] { const auto hold = loop.watch(pipe.read.get(), [] {}); }), "is_here");
  EXPECT_DEATH(elsewhere([&] { const auto hold = loop.at(base::BootTime(), [] {}); }), "is_here");
  EXPECT_DEATH(elsewhere([&] { loop.after(0ms, [] {}); }), "is_here");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(loop.now()); }), "is_here");
  EXPECT_DEATH(elsewhere([&] { static_cast<void>(loop.context()); }), "is_here");
  // While another thread runs the loop, the one that created it is like any other.
  std::jthread runner([&] { loop.run(); });
  std::promise<void> runs;
  loop.post([&] { runs.set_value(); });
  runs.get_future().wait();
  EXPECT_FALSE(loop.is_here());
  loop.stop();
  runner.join();
  EXPECT_TRUE(loop.is_here());
}

// CPU time of an idle thread.
TEST(Loop, does_not_wake_when_idle) {
  Loop loop;
  // A timer that is cancelled costs one wake-up at most.
  {
    const Loop::Hold cancelled = loop.at(loop.now() + 1ms, [] {});
  }
  timespec used{};
  const auto read_used = [&] {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  };
  std::chrono::nanoseconds before{};
  const Loop::Hold start = loop.at(loop.now() + 10ms, [&] { before = read_used(); });
  const Loop::Hold end = loop.at(loop.now() + 110ms, [&] {
    EXPECT_LT(read_used() - before, 20ms);
    loop.stop();
  });
  loop.run();
}

}  // namespace
}  // namespace reeve::runtime
