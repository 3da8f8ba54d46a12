#include "runtime/isolation/apply_queue.h"

#include <optional>

#include <gmock/gmock.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using Applied = Isolation::Applied;

class ApplyQueueTest : public ::testing::Test {
 protected:
  // An apply of that execution whose gates must run that often before it is done.
  ApplyQueue::Job job(std::int64_t root, int rounds, const std::string& checkout = "here") {
    const std::string name = base::ExecutionId(root).text();
    return {.checkout = checkout,
            .root = base::ExecutionId(root),
            .name = name,
            .attempt =
                [this, name, left = rounds]() mutable {
                  log_.push_back("try " + name);
                  if (left-- > 0) return Applied{.check = Isolation::GateCheck{.name = name}};
                  return Applied{.kind = Applied::Kind::applied};
                },
            .hold =
                [this, name](const std::string& why) {
                  log_.push_back("hold " + name + ": " + why);
                  return Applied{.kind = Applied::Kind::held};
                },
            .done = {[this, name](const ApplyQueue::Result&) { log_.push_back("done " + name); }}};
  }
  void answer(std::optional<std::string> refusal) {
    const auto reply = std::exchange(answer_, nullptr);
    ASSERT_TRUE(reply);
    reply(Isolation::GateVerdict{std::move(refusal)});
  }

  std::vector<std::string> log_;
  std::function<void(std::expected<Isolation::GateVerdict, base::Error>)> answer_;
  ApplyQueue queue_{{.ask_gates = [this](const Isolation::GateCheck& check,
                                         auto answer) { log_.push_back("ask " + check.name), answer_ = answer; },
                     .cancel_gates = [this](const std::string& name) { log_.push_back("cancel " + name); },
                     .finished = [](const ApplyQueue::Job&, const ApplyQueue::Result&) {}}};
};

TEST_F(ApplyQueueTest, job_without_gates_completes_immediately) {
  queue_.add(job(1, 0));
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1"));
  EXPECT_TRUE(queue_.is_empty());
}

// ISO-3: each change is gated on top of the previous one.
TEST_F(ApplyQueueTest, jobs_on_one_checkout_run_one_at_a_time) {
  queue_.add(job(1, 1));
  queue_.add(job(2, 0));
  queue_.add(job(3, 0, "elsewhere"));
  EXPECT_THAT(log_, ElementsAre("try EX-1", "ask EX-1", "try EX-3", "done EX-3"));
  log_.clear();
  answer(std::nullopt);
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1", "try EX-2", "done EX-2"));
}

TEST_F(ApplyQueueTest, refused_job_is_held_and_the_next_proceeds) {
  queue_.add(job(1, 1));
  queue_.add(job(2, 0));
  log_.clear();
  answer("no");
  EXPECT_THAT(log_, ElementsAre("hold EX-1: no", "done EX-1", "try EX-2", "done EX-2"));
}

TEST_F(ApplyQueueTest, duplicate_job_runs_once_and_reports_twice) {
  queue_.add(job(1, 1));
  queue_.add(job(1, 1));
  log_.clear();
  answer(std::nullopt);
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1", "done EX-1"));
}

TEST_F(ApplyQueueTest, gives_up_when_the_checkout_keeps_moving) {
  queue_.add(job(1, 100));
  for (int i = 0; i < 5; ++i) answer(std::nullopt);
  EXPECT_EQ(log_.back(), "done EX-1");
  EXPECT_THAT(log_[log_.size() - 2], ::testing::HasSubstr("changed 5 times"));
}

TEST_F(ApplyQueueTest, cancelled_jobs_are_not_applied) {
  queue_.add(job(1, 1));
  queue_.add(job(2, 0));
  queue_.cancel(base::ExecutionId(1));
  queue_.cancel(base::ExecutionId(2));
  bool is_free = false;
  queue_.when_free(base::ExecutionId(2), [&] { is_free = true; });
  EXPECT_FALSE(is_free);
  log_.clear();
  answer(std::nullopt);
  EXPECT_THAT(log_, ElementsAre("hold EX-1: its execution was cancelled", "done EX-1",
                                "hold EX-2: its execution was cancelled", "done EX-2"));
  EXPECT_TRUE(is_free);
  EXPECT_TRUE(queue_.is_empty());
}

}  // namespace
}  // namespace reeve::runtime
