#include <gtest/gtest.h>

#include "tests/support/engine/run_world.h"

// Random orders of output, prompts, questions, tool calls, answers, exits, timers, cancels, failing writes, crashes and
// lost keepers.
namespace reeve::engine {
namespace {

RunTerms random_terms(base::Random& random) {
  RunTerms terms;
  if (random.below(3) > 0) terms.no_output_timeout = base::TimeLimit::of(std::chrono::seconds(1 + random.below(300)));
  if (random.below(2) == 0) terms.liveness = model::Liveness::output;
  if (random.below(3) == 0) terms.on_stall = model::OnStall::kill;
  const std::uint64_t on_prompt = random.below(4);
  if (on_prompt == 0) terms.on_prompt = model::PromptAction::fail;
  if (on_prompt == 1) terms.on_prompt = model::PromptAction::answer;
  return terms;
}

// RUN-2, RUN-3, RUN-4, RUN-13, APR-7, APR-9: never an illegal state, never two starts, one end.
TEST(RunProperty, every_order_of_events_ends_legally) {
  constexpr std::uint64_t seeds = 4'000;
  testing::RunWorld::Coverage all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    base::SeededRandom random(seed);
    const RunTerms terms = random_terms(random);
    testing::RunWorld world(random, terms);
    const std::uint64_t steps = random.below(300);
    for (std::uint64_t i = 0; i < steps && world.violation().empty(); ++i) world.step();
    ASSERT_TRUE(world.settle()) << "seed " << seed << ": " << world.violation();
    const auto& seen = world.coverage();
    all.crashes += seen.crashes;
    all.questions += seen.questions;
    all.typed += seen.typed;
    all.stops += seen.stops;
    all.stalls += seen.stalls;
    all.failed_writes += seen.failed_writes;
    all.ends += seen.ends;
    all.pauses += seen.pauses;
    all.limits += seen.limits;
    all.calls += seen.calls;
    all.parallel += seen.parallel;
    ASSERT_LE(seen.ends, 1) << "seed " << seed;
  }
  // It exercises what it claims to.
  EXPECT_GT(all.crashes, 1'000);
  EXPECT_GT(all.questions, 1'000);
  EXPECT_GT(all.typed, 100);
  EXPECT_GT(all.stops, 500);
  EXPECT_GT(all.stalls, 50);
  EXPECT_GT(all.failed_writes, 1'000);
  EXPECT_GT(all.ends, 2'000);
  EXPECT_GT(all.pauses, 1'000);
  EXPECT_GT(all.limits, 1'000);
  EXPECT_GT(all.calls, 1'000);
  EXPECT_GT(all.parallel, 500);
}

}  // namespace
}  // namespace reeve::engine
