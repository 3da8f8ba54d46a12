#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/approvals.h"

// What a daemon costs that has nothing to do: one wake-up of one thread per poll.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;

class IdleDaemon : public testing::ApprovalsTest {
 protected:
  static constexpr std::chrono::milliseconds interval{100};
  IdleDaemon() { configure("supervision: {poll_interval: 100ms}\n"); }

  using Counts = std::map<std::string, long>;

  pid_t find_daemon() const {
    pid_t pid = 0;
    for (const auto& process : processes()) {
      if (process.command.starts_with(testing::reeve_binary() + " serve")) pid = process.pid;
    }
    return pid;
  }
  // The voluntary context switches of each thread so far: how often it has gone to sleep.
  static Counts count_sleeps(pid_t pid) {
    Counts counts;
    for (const auto& task : fs::directory_iterator(fs::path("/proc") / std::to_string(pid) / "task")) {
      // A thread may end meanwhile.
      std::ifstream status(task.path() / "status");
      constexpr std::string_view name = "voluntary_ctxt_switches:";
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with(name)) counts[task.path().filename()] = std::stol(line.substr(name.size()));
      }
    }
    return counts;
  }
  // The threads that were awake in between.
  static std::size_t count_awake(const Counts& before, const Counts& after) {
    std::size_t awake = 0;
    for (const auto& [thread, count] : after) {
      const auto found = before.find(thread);
      awake += found == before.end() || found->second != count ? 1 : 0;
    }
    return awake;
  }
  // Whether a time comes in which one thread polls several times, at most twice per interval, and all others sleep. A
  // busy machine makes it poll less often, never more.
  static bool comes_to_rest(pid_t daemon) {
    constexpr long polls = 5;
    Counts before = count_sleeps(daemon);
    auto begun = std::chrono::steady_clock::now();
    return eventually([&] {
      const Counts after = count_sleeps(daemon);
      const auto now = std::chrono::steady_clock::now();
      long sleeps = 0;
      for (const auto& [thread, count] : after) {
        const auto found = before.find(thread);
        if (found != before.end()) sleeps += count - found->second;
      }
      const long may_sleep = 2 * ((now - begun) / interval + 1);
      const bool is_busy = count_awake(before, after) > 1 || after.size() != before.size() || sleeps > may_sleep;
      if (is_busy) {
        before = after;
        begun = now;
      }
      return !is_busy && sleeps >= polls;
    });
  }
};

TEST_F(IdleDaemon, wakes_one_thread_per_poll) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_TRUE(comes_to_rest(find_daemon()));
}

// A person may take days to answer.
TEST_F(IdleDaemon, wakes_one_thread_per_poll_while_a_person_is_asked) {
  const std::string approval = ask();
  EXPECT_TRUE(comes_to_rest(find_daemon()));
  EXPECT_EQ(reeve({"approve", approval, "--yes"}).code, 0);
  EXPECT_EQ(finish("TR-1").at("status"), "completed");
}

}  // namespace
}  // namespace reeve
