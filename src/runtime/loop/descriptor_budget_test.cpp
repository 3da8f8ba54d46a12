#include "runtime/loop/descriptor_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using ::testing::HasSubstr;

TEST(DescriptorBudget, a_small_limit_keeps_a_reserve) {
  const DescriptorBudget budget = divide_descriptors(64, 20);
  EXPECT_GE(budget.max_runs, 1U);
  EXPECT_GE(budget.max_connections, 8U);
  EXPECT_EQ(budget.idle_keepers, 1U);
  // Five per run, two for the idle keeper, and 16 in reserve.
  EXPECT_LE(20 + 2 + 5 * budget.max_runs + 16, 64U);
}

TEST(DescriptorBudget, too_small_limit_allows_no_run) {
  EXPECT_EQ(divide_descriptors(32, 20).max_runs, 0U);
  EXPECT_EQ(divide_descriptors(0, 20).max_runs, 0U);
}

TEST(DescriptorBudget, large_limit_caps_connections_at_1024) {
  const DescriptorBudget budget = divide_descriptors(1U << 20U, 40);
  EXPECT_EQ(budget.max_connections, 1'024U);
  EXPECT_EQ(budget.max_run_connections, 8'192U);
  EXPECT_EQ(budget.idle_keepers, 3U);
  EXPECT_GT(budget.max_runs, 200'000U);
}

// TOOL-3: a run may have 1,000 waiting calls, each with a connection of its own; they leave room for other runs and for
// the person who answers.
TEST(DescriptorBudget, waiting_calls_have_a_share_of_their_own) {
  for (const std::uint64_t limit : {64U, 1'024U, 20'000U, 1U << 20U}) {
    const DescriptorBudget budget = divide_descriptors(limit, 20);
    EXPECT_LE(20 + 2 * budget.idle_keepers + 5 * budget.max_runs + budget.max_run_connections + budget.max_connections,
              limit);
    EXPECT_GE(budget.max_runs, 1U);
    EXPECT_GE(budget.max_run_connections, 4U);
  }
  EXPECT_GE(divide_descriptors(20'000, 20).max_run_connections, 2'000U);
}

TEST(DescriptorBudget, error_names_the_limit_and_the_fix) {
  const base::Error error = no_descriptors(divide_descriptors(64, 20), 5);
  EXPECT_EQ(error.code(), "run.no_descriptors");
  EXPECT_THAT(error.message(), HasSubstr("limit of 64 open files"));
  EXPECT_THAT(error.fix(), HasSubstr("ulimit -Hn"));
}

}  // namespace
}  // namespace reeve::runtime
