#include "tests/simulation/calls_simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace reeve::simulation {
namespace {

// TOOL-4, APR-7, APR-8: whenever a daemon dies, a call runs at most once and never without its yes, and a released run
// resumes once.
TEST(SimulatedCalls, each_runs_at_most_once_and_none_without_its_yes) {
  constexpr std::uint64_t seeds = 300;
  CallsReport all;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const CallsReport report = simulate_calls(seed);
    ASSERT_TRUE(report.broken.empty()) << "seed " << seed << "\n"
                                       << fmt::format("{}", fmt::join(report.broken, "\n")) << "\n"
                                       << report.trace;
    all.crashes += report.crashes;
    all.calls += report.calls;
    all.effects += report.effects;
    all.resumptions += report.resumptions;
    all.continued += report.continued;
    all.outside_decisions += report.outside_decisions;
    all.expiries += report.expiries;
    for (const auto& [outcome, count] : report.outcomes) all.outcomes[outcome] += count;
  }
  fmt::print("{} crashes, {} calls, {} ran, {} resumptions, {} continued, {} plain updates, {} expired; {}\n",
             all.crashes, all.calls, all.effects, all.resumptions, all.continued, all.outside_decisions, all.expiries,
             all.outcomes);
  // A case that did not occur was not tested.
  for (const std::size_t count :
       {all.crashes, all.calls, all.effects, all.resumptions, all.continued, all.outside_decisions, all.expiries}) {
    EXPECT_GT(count, 100);
  }
  for (const char* outcome : {"ran", "failed", "denied", "lost", "withdrawn"}) EXPECT_GT(all.outcomes[outcome], 10);
  EXPECT_EQ(all.outcomes.count("open") + all.outcomes.count("deferred"), 0U);
}

TEST(SimulatedCalls, a_seed_replays_to_the_same_trace) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(simulate_calls(seed).trace, simulate_calls(seed).trace);
}

}  // namespace
}  // namespace reeve::simulation
