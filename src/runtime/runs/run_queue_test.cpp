#include "runtime/runs/run_queue.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using base::RunId;
using model::RunStatus;

// RUN-14
TEST(RunQueue, runs_start_by_priority_then_in_order) {
  RunQueue queue(10);
  queue.add(RunId(1), 0);
  queue.add(RunId(2), 0);
  queue.add(RunId(3), 5);
  queue.add(RunId(4), -1);
  for (const int expected : {3, 1, 2, 4}) EXPECT_EQ(queue.take(), RunId(expected));
  EXPECT_EQ(queue.take(), std::nullopt);
}

// RUN-14
TEST(RunQueue, a_run_takes_a_slot_until_it_ends_or_waits_for_an_approval) {
  RunQueue queue(2);
  for (const int number : {1, 2, 3, 4}) queue.add(RunId(number), 0);
  EXPECT_EQ(queue.take(), RunId(1));
  EXPECT_EQ(queue.take(), RunId(2));
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_FALSE(queue.on_status(RunId(1), RunStatus::running));
  EXPECT_FALSE(queue.on_status(RunId(1), RunStatus::stalled));
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_TRUE(queue.on_status(RunId(1), RunStatus::waiting_approval));
  EXPECT_EQ(queue.take(), RunId(3));
  // It was answered: three are alive, and the next waits for two of them.
  EXPECT_FALSE(queue.on_status(RunId(1), RunStatus::running));
  EXPECT_EQ(queue.busy(), 3U);
  EXPECT_TRUE(queue.on_status(RunId(2), RunStatus::completed));
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_TRUE(queue.on_status(RunId(3), RunStatus::failed));
  EXPECT_EQ(queue.take(), RunId(4));
}

// RUN-14: nodes of executions use slots too.
TEST(RunQueue, the_limit_is_shared) {
  RunQueue queue(2);
  std::size_t nodes = 2;
  queue.set_others([&nodes] { return nodes; });
  queue.add(RunId(1), 0);
  EXPECT_EQ(queue.take(), std::nullopt);
  nodes = 1;
  EXPECT_EQ(queue.take(), RunId(1));
}

// RUN-15
TEST(RunQueue, a_run_cancelled_in_the_queue_never_starts) {
  RunQueue queue(1);
  queue.add(RunId(1), 3);
  queue.add(RunId(2), 0);
  EXPECT_FALSE(queue.on_status(RunId(1), RunStatus::cancelled));
  EXPECT_EQ(queue.take(), RunId(2));
  // Cancelled while it was being started.
  EXPECT_TRUE(queue.on_status(RunId(2), RunStatus::cancelled));
  EXPECT_EQ(queue.busy(), 0U);
  EXPECT_EQ(queue.take(), std::nullopt);
}

// RUN-13: what an earlier daemon started counts, and other runs never do.
TEST(RunQueue, restored_runs_count) {
  RunQueue queue(1);
  queue.add_started(RunId(1), RunStatus::running);
  queue.add_started(RunId(2), RunStatus::waiting_approval);
  queue.add(RunId(3), 0);
  EXPECT_FALSE(queue.on_status(RunId(9), RunStatus::running));
  EXPECT_EQ(queue.busy(), 1U);
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_TRUE(queue.on_status(RunId(1), RunStatus::completed));
  EXPECT_EQ(queue.take(), RunId(3));
}

// RUN-18
TEST(RunQueue, run_with_a_usage_limit_uses_no_slot_until_it_continues) {
  RunQueue queue(1);
  queue.add(RunId(1), 5);
  queue.add(RunId(2), 0);
  EXPECT_EQ(queue.take(), RunId(1));
  EXPECT_FALSE(queue.on_status(RunId(1), RunStatus::running));
  EXPECT_TRUE(queue.suspend(RunId(1)));
  EXPECT_FALSE(queue.suspend(RunId(1)));
  EXPECT_TRUE(queue.contains(RunId(1)));
  EXPECT_EQ(queue.take(), RunId(2));
  queue.add(RunId(3), 0);
  queue.add(RunId(1), queue.priority_of(RunId(1)));
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_TRUE(queue.on_status(RunId(2), RunStatus::completed));
  EXPECT_EQ(queue.take(), RunId(1)) << "it kept its priority";
  // A node counts its own slot from now on.
  queue.remove(RunId(1));
  EXPECT_FALSE(queue.contains(RunId(1)));
  EXPECT_EQ(queue.busy(), 0U);
}

}  // namespace
}  // namespace reeve::runtime
