#include "engine/agent.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using model::AgentEvent;
using model::AgentState;
using std::chrono::milliseconds;

// AGT-1: every event in every state follows the model's table, except a death while paused.
TEST(AgentDecision, follows_the_table) {
  const base::WallTime now(milliseconds(5));
  for (const auto& [state, _] : base::names_of<AgentState>()) {
    for (const auto& [event, name] : base::names_of<AgentEvent>()) {
      const auto decided = decide(state, event, now);
      if (state == AgentState::paused && event == AgentEvent::fail) {
        ASSERT_TRUE(decided);
        ASSERT_EQ(decided->size(), 2);
        EXPECT_EQ((*decided)[0],
                  (model::AgentTransition{AgentState::paused, AgentEvent::resume, AgentState::active, now}));
        EXPECT_EQ((*decided)[1],
                  (model::AgentTransition{AgentState::active, AgentEvent::fail, AgentState::failed, now}));
        continue;
      }
      ASSERT_EQ(decided.has_value(), model::can_transition(state, event)) << base::spell(state) << " " << name;
      if (decided) EXPECT_EQ(decided->back().to, *model::transition(state, event));
    }
  }
}

// AGT-2.
TEST(AgentDecision, recovers_three_times_with_growing_pauses) {
  EXPECT_EQ(recovery_pause(1, 0), milliseconds(2'000));
  EXPECT_EQ(recovery_pause(2, 0), milliseconds(4'000));
  EXPECT_EQ(recovery_pause(3, 0), milliseconds(8'000));
  EXPECT_EQ(recovery_pause(2, 1), milliseconds(3'000));
  EXPECT_FALSE(recovery_pause(4, 0));
  EXPECT_FALSE(recovery_pause(0, 0));
}

}  // namespace
}  // namespace reeve::engine
