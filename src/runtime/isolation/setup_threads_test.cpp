#include "runtime/isolation/setup_threads.h"

#include <condition_variable>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

// The test's own thread owns the setups.
class SetupThreadsTest : public ::testing::Test {
 protected:
  // Runs returned work until the condition holds.
  void turn_until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds() && std::chrono::steady_clock::now() < deadline) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        came_.wait_for(lock, std::chrono::milliseconds(20), [&] { return !back_.empty(); });
        if (back_.empty()) continue;
        work = std::move(back_.front());
        back_.pop_front();
      }
      work();
    }
    EXPECT_TRUE(holds());
  }
  static NodeAttemptId at(int number, int attempt = 1) {
    return {.root = base::ExecutionId(1),
            .execution = base::ExecutionId(1),
            .node = std::to_string(number),
            .iteration = 0,
            .attempt = attempt,
            .worktree_id = {}};
  }
  // Creates a file when it starts, and runs until a file `go` exists.
  void begin(int number) {
    SetupPlan plan;
    plan.from = plan.to = folder_.path();
    plan.environment = {{"PATH", "/usr/bin:/bin"}};
    plan.lock = folder_.path() / "locks" / std::to_string(number);
    plan.settings.setup = {
        {"sh", "-c", "echo > \"began-$0\"; until [ -e go ]; do sleep 0.02; done", std::to_string(number)}};
    setups_.begin(at(number), plan, [this, number](const std::optional<base::Error>& failure) {
      ended_[number] = failure ? failure->message() : "";
    });
  }
  int count_begun() const {
    int begun = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      begun += entry.path().filename().string().starts_with("began-") ? 1 : 0;
    }
    return begun;
  }

  testing::ScratchFolder folder_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<void()>> back_;
  std::map<int, std::string> ended_;
  SetupThreads setups_{[this](std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    back_.push_back(std::move(work));
    came_.notify_one();
  }};
};

// GRF-14: setups start at once, up to a limit.
TEST_F(SetupThreadsTest, concurrency_is_limited_and_queued_work_follows) {
  constexpr int most = static_cast<int>(SetupThreads::max_at_once);
  for (int number = 0; number < most + 2; ++number) begin(number);
  turn_until([&] { return count_begun() == most; });
  setups_.cancel(at(most));
  bool is_over = false;
  setups_.when_free(at(most), [&] { is_over = true; });
  turn_until([&] { return is_over; });
  EXPECT_THAT(ended_[most], ::testing::HasSubstr("was not started"));
  std::ofstream(folder_.path() / "go") << "go";
  turn_until([&] { return ended_.size() == static_cast<std::size_t>(most + 2); });
  EXPECT_EQ(ended_[most + 1], "");
  EXPECT_EQ(count_begun(), most + 1);
}

// Work for a node waits, in order, while a setup runs for it; work for other nodes does not.
TEST_F(SetupThreadsTest, work_on_the_same_node_waits_in_order) {
  begin(1);
  std::vector<std::string> done;
  setups_.when_free(at(1, 2), [&] { done.emplace_back("next attempt"); });
  setups_.when_free(at(2), [&] { done.emplace_back("another"); });
  setups_.when_free(base::ExecutionId(1), [&] { done.emplace_back("end"); });
  setups_.when_free(base::ExecutionId(2), [&] { done.emplace_back("another execution"); });
  setups_.when_free(at(2), [&] { done.emplace_back("after the end"); });
  EXPECT_THAT(done, ::testing::ElementsAre("another", "another execution"));
  setups_.cancel_all(base::ExecutionId(1));
  turn_until([&] { return done.size() == 5; });
  EXPECT_THAT(done, ::testing::ElementsAre("another", "another execution", "next attempt", "end", "after the end"));
  EXPECT_THAT(ended_[1], ::testing::HasSubstr("was cancelled"));
}

}  // namespace
}  // namespace reeve::runtime
