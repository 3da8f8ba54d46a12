#include "engine/recovery.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

constexpr int max_starts = 3;

// Every combination that can occur: a held lock and a trusted marker imply the same boot.
void for_all_facts(const std::function<void(const RecoveryFacts&)>& check) {
  constexpr unsigned flags = 8;
  for (unsigned bits = 0; bits < 1U << flags; ++bits) {
    const auto bit = [bits](unsigned n) { return (bits >> n & 1U) != 0; };
    for (int starts = 0; starts <= max_starts; ++starts) {
      const RecoveryFacts facts{.is_same_boot = bit(0),
                                .is_held = bit(1),
                                .is_connected = bit(2),
                                .is_marked = bit(3),
                                .has_exit = bit(4),
                                .must_end = bit(5),
                                .has_launch = bit(6),
                                .starts = starts,
                                .max_starts = max_starts,
                                .has_paused = bit(7)};
      if ((facts.is_held || facts.is_marked) && !facts.is_same_boot) continue;
      if (facts.is_connected && !facts.is_held) continue;
      check(facts);
    }
  }
}

bool starts_a_tool(RecoveryAction action) {
  return action == RecoveryAction::start || action == RecoveryAction::pause_and_start;
}

// RUN-13
TEST(RunRecovery, starts_only_attempts_that_provably_never_ran) {
  for_all_facts([](const RecoveryFacts& facts) {
    if (!starts_a_tool(decide_recovery(facts))) return;
    EXPECT_TRUE(facts.is_same_boot);
    EXPECT_FALSE(facts.is_held);
    EXPECT_FALSE(facts.is_marked);
    EXPECT_FALSE(facts.has_exit);
    EXPECT_FALSE(facts.must_end);
    EXPECT_TRUE(facts.has_launch);
    EXPECT_LT(facts.starts, facts.max_starts);
  });
}

TEST(RunRecovery, an_exit_record_always_decides) {
  for_all_facts(
      [](const RecoveryFacts& facts) { EXPECT_EQ(facts.has_exit, decide_recovery(facts) == RecoveryAction::finish); });
}

TEST(RunRecovery, a_living_keeper_is_adopted_or_waited_for) {
  for_all_facts([](const RecoveryFacts& facts) {
    const RecoveryAction action = decide_recovery(facts);
    const bool is_patient = action == RecoveryAction::adopt || action == RecoveryAction::look_again;
    EXPECT_EQ(is_patient, facts.is_held && !facts.has_exit);
    if (action == RecoveryAction::adopt) EXPECT_TRUE(facts.is_marked && facts.is_connected);
  });
}

TEST(RunRecovery, a_marked_attempt_without_keeper_is_interrupted_once_it_need_not_end) {
  for_all_facts([](const RecoveryFacts& facts) {
    if (facts.has_exit || facts.is_held || facts.must_end) return;
    const bool may_have_run = facts.is_marked || !facts.is_same_boot;
    EXPECT_EQ(may_have_run, decide_recovery(facts) == RecoveryAction::interrupt);
  });
}

// APR-7: three times within the attempt, with a pause before each but the first.
TEST(RunRecovery, lost_starts_are_repeated_after_a_pause_and_then_given_up) {
  RecoveryFacts facts{.is_same_boot = true, .has_launch = true, .starts = 0, .max_starts = max_starts};
  EXPECT_EQ(decide_recovery(facts), RecoveryAction::start);
  facts.starts = 1;
  EXPECT_EQ(decide_recovery(facts), RecoveryAction::pause_and_start);
  facts.has_paused = true;
  EXPECT_EQ(decide_recovery(facts), RecoveryAction::start);
  facts.starts = max_starts;
  EXPECT_EQ(decide_recovery(facts), RecoveryAction::give_up);
  facts.starts = 0;
  facts.has_launch = false;
  EXPECT_EQ(decide_recovery(facts), RecoveryAction::give_up);
}

TEST(RunRecovery, every_action_is_reachable) {
  std::set<RecoveryAction> seen;
  for_all_facts([&](const RecoveryFacts& facts) { seen.insert(decide_recovery(facts)); });
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(RecoveryAction::interrupt) + 1);
}

}  // namespace
}  // namespace reeve::engine
