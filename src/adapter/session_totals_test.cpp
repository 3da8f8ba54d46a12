#include "adapter/session_totals.h"

#include <limits>

#include <gtest/gtest.h>

namespace reeve::adapter {
namespace {

const wire::SessionUsage before{.input_tokens = 100, .output_tokens = 20, .cached_tokens = 5, .cost_usd = 0.5};

// AGT-4
TEST(SessionTotals, totals_of_the_process_are_added_to_what_was_before) {
  SessionTotals totals(before);
  EXPECT_TRUE(totals.update({.input_tokens = 10, .output_tokens = 2, .cached_tokens = 1, .cost_usd = 0.25}));
  EXPECT_TRUE(totals.update({.input_tokens = 30, .output_tokens = 3, .cached_tokens = 1, .cost_usd = 0.5}));
  EXPECT_EQ(totals.now(), (wire::SessionUsage{130, 23, 6, 1.0, {}, {}}));
}

TEST(SessionTotals, totals_of_the_session_replace_it) {
  SessionTotals totals(before);
  totals.update({.input_tokens = 130,
                 .output_tokens = 30,
                 .cached_tokens = 9,
                 .tokens_are_of_session = true,
                 .cost_usd = 0.75,
                 .cost_is_of_session = true});
  EXPECT_EQ(totals.now(), (wire::SessionUsage{130, 30, 9, 0.75, {}, {}}));
}

// Claude Code: the cost is that of the session, the tokens are those of the process.
TEST(SessionTotals, cost_and_tokens_may_count_differently) {
  SessionTotals totals(before);
  totals.update({.input_tokens = 10, .cost_usd = 0.75, .cost_is_of_session = true});
  EXPECT_EQ(totals.now().input_tokens, 110);
  EXPECT_EQ(totals.now().cost_usd, 0.75);
}

TEST(SessionTotals, nothing_shrinks_or_overflows) {
  SessionTotals totals(before);
  EXPECT_FALSE(totals.update({.tokens_are_of_session = true, .cost_usd = 0.1, .cost_is_of_session = true}));
  EXPECT_EQ(totals.now(), before);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  totals.update({.input_tokens = most, .output_tokens = -5, .cost_usd = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_GT(totals.now().input_tokens, 0);
  EXPECT_EQ(totals.now().output_tokens, 20);
  EXPECT_EQ(totals.now().cost_usd, 0.5);
}

TEST(SessionTotals, context_is_the_present_one) {
  SessionTotals totals(before);
  totals.update({.context_used = 900, .context_size = 1'000});
  EXPECT_TRUE(totals.update({.context_used = 100}));
  EXPECT_EQ(totals.now().context_used, 100);
  EXPECT_EQ(totals.now().context_size, 1'000);
}

}  // namespace
}  // namespace reeve::adapter
