#include "runtime/executions/slots.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

ledger::Claim claim(graph::NodeIndex node, int attempt = 1) {
  return {.execution = base::ExecutionId(7), .node = node, .attempt = attempt};
}

ledger::StartWork work(graph::NodeIndex node) { return {.claim = claim(node), .workflow = nullptr, .inputs = {}}; }

TEST(Slots, waiting_nodes_count_against_the_room) {
  Slots slots(3);
  EXPECT_EQ(slots.room(), 3U);
  slots.occupy(claim(0));
  slots.add_waiting(work(1));
  slots.add_ready({claim(2), "folder"});
  EXPECT_EQ(slots.room(), 0U);
  EXPECT_FALSE(slots.is_full());
  slots.remove_waiting(claim(1));
  slots.remove_ready(claim(2));
  EXPECT_EQ(slots.room(), 2U);
}

// RUN-14
TEST(Slots, queued_runs_use_slots_too) {
  Slots slots(3);
  std::size_t queued = 2;
  slots.set_others([&queued] { return queued; });
  EXPECT_EQ(slots.room(), 1U);
  slots.occupy(claim(0));
  EXPECT_TRUE(slots.is_full());
  // A queued run was answered and continues beyond the limit.
  queued = 4;
  EXPECT_EQ(slots.room(), 0U);
  queued = 0;
  EXPECT_EQ(slots.room(), 2U);
}

TEST(Slots, the_end_of_an_earlier_attempt_leaves_the_slot_of_the_next_one) {
  Slots slots(1);
  slots.occupy(claim(0, 1));
  slots.occupy(claim(0, 2));
  slots.release(claim(0, 1));
  EXPECT_TRUE(slots.is_occupied_by(claim(0, 2)));
  EXPECT_FALSE(slots.is_occupied_by(claim(0, 1)));
  EXPECT_TRUE(slots.is_full());
  slots.release(claim(0, 2));
  EXPECT_FALSE(slots.is_full());
}

TEST(Slots, nothing_is_taken_while_all_are_in_use) {
  Slots slots(1);
  slots.occupy(claim(0));
  slots.add_waiting(work(1));
  slots.add_ready({claim(2), "folder"});
  EXPECT_FALSE(slots.take_ready());
  EXPECT_FALSE(slots.take_waiting());
  slots.release(claim(0));
  const auto ready = slots.take_ready();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->claim, claim(2));
  EXPECT_FALSE(slots.take_ready());
  const auto next = slots.take_waiting();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->claim, claim(1));
}

// Each prepared node has a worktree, so their number is bounded although they use no slot.
TEST(Slots, preparing_nodes_use_no_slot_but_are_bounded) {
  Slots slots(2);
  for (graph::NodeIndex node = 0; node < 3; ++node) slots.set_preparing(claim(node), true);
  EXPECT_EQ(slots.room(), 2U);
  slots.set_preparing(claim(3), true);
  EXPECT_EQ(slots.room(), 0U);
  slots.add_waiting(work(4));
  EXPECT_FALSE(slots.take_waiting());
  slots.set_preparing(claim(0), false);
  EXPECT_EQ(slots.room(), 1U);
  EXPECT_TRUE(slots.take_waiting());
}

}  // namespace
}  // namespace reeve::runtime
