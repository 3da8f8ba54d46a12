#include "runtime/apply_queue.h"

#include <optional>

#include <gmock/gmock.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using Applied = Isolation::Applied;

class ApplyQueueTest : public ::testing::Test {
 protected:
  // An apply of that execution that wants its gates asked so often before it is done.
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
    const auto told = std::exchange(answer_, nullptr);
    ASSERT_TRUE(told);
    told(Isolation::GateVerdict{std::move(refusal)});
  }

  std::vector<std::string> log_;
  std::function<void(std::expected<Isolation::GateVerdict, base::Error>)> answer_;
  ApplyQueue queue_{{.ask_gates = [this](const Isolation::GateCheck& check,
                                         auto answer) { log_.push_back("ask " + check.name), answer_ = answer; },
                     .cancel_gates = [this](const std::string& name) { log_.push_back("cancel " + name); },
                     .over = [](const ApplyQueue::Job&, const ApplyQueue::Result&) {}}};
};

TEST_F(ApplyQueueTest, what_needs_no_gate_is_done_at_once) {
  queue_.add(job(1, 0));
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1"));
  EXPECT_TRUE(queue_.is_empty());
}

// ISO-3: each is gated on top of the last.
TEST_F(ApplyQueueTest, one_checkout_is_changed_by_one_at_a_time) {
  queue_.add(job(1, 1));
  queue_.add(job(2, 0));
  queue_.add(job(3, 0, "elsewhere"));
  EXPECT_THAT(log_, ElementsAre("try EX-1", "ask EX-1", "try EX-3", "done EX-3"));
  log_.clear();
  answer(std::nullopt);
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1", "try EX-2", "done EX-2"));
}

TEST_F(ApplyQueueTest, a_refusal_holds_it_back_and_lets_the_next_go_on) {
  queue_.add(job(1, 1));
  queue_.add(job(2, 0));
  log_.clear();
  answer("no");
  EXPECT_THAT(log_, ElementsAre("hold EX-1: no", "done EX-1", "try EX-2", "done EX-2"));
}

TEST_F(ApplyQueueTest, asked_twice_it_is_done_once_and_answered_twice) {
  queue_.add(job(1, 1));
  queue_.add(job(1, 1));
  log_.clear();
  answer(std::nullopt);
  EXPECT_THAT(log_, ElementsAre("try EX-1", "done EX-1", "done EX-1"));
}

TEST_F(ApplyQueueTest, a_checkout_that_always_moves_is_given_up) {
  queue_.add(job(1, 100));
  for (int i = 0; i < 5; ++i) answer(std::nullopt);
  EXPECT_EQ(log_.back(), "done EX-1");
  EXPECT_THAT(log_[log_.size() - 2], ::testing::HasSubstr("moved 5 times"));
}

TEST_F(ApplyQueueTest, what_is_cancelled_is_not_applied_and_its_gates_end) {
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
