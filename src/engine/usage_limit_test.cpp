#include "engine/usage_limit.h"

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const base::WallTime now = base::parse_time("2026-11-19T12:00:00.000Z").value();

// RUN-18
TEST(UsageLimit, run_continues_a_few_seconds_after_the_reported_time) {
  EXPECT_EQ(find_continuation({.resets_at = now + hours(5)}, now), now + hours(5) + seconds(2));
  EXPECT_EQ(find_continuation({.resets_at = now + hours(8 * 24), .in_row = 9}, now), now + hours(8 * 24) + seconds(2));
}

// RUN-18
TEST(UsageLimit, pause_without_a_time_doubles_up_to_four_hours) {
  for (const auto& [in_row, pause] :
       {std::pair(1, minutes(15)), std::pair(2, minutes(30)), std::pair(3, minutes(60)), std::pair(4, minutes(120)),
        std::pair(5, minutes(240)), std::pair(6, minutes(240)), std::pair(1'000'000, minutes(240))}) {
    EXPECT_EQ(find_continuation({.in_row = in_row}, now), now + pause) << in_row;
  }
}

TEST(UsageLimit, implausible_time_counts_as_none) {
  EXPECT_EQ(find_plausible_reset(now + seconds(1), now), now + seconds(1));
  EXPECT_EQ(find_plausible_reset(now + hours(8 * 24), now), now + hours(8 * 24));
  for (const base::WallTime time :
       {now, now - seconds(1), now + hours(8 * 24) + seconds(1), base::WallTime::max(), base::WallTime::min()}) {
    EXPECT_EQ(find_plausible_reset(time, now), std::nullopt);
  }
  EXPECT_EQ(find_plausible_reset({}, now), std::nullopt);
}

// The time may pass before the end is stored, and an agent may be wrong again and again.
TEST(UsageLimit, attempts_in_a_row_never_follow_each_other_at_once) {
  EXPECT_EQ(find_continuation({.resets_at = now - hours(1)}, now), now + seconds(2));
  EXPECT_EQ(find_continuation({.resets_at = now + seconds(1), .in_row = 5}, now), now + seconds(32));
  EXPECT_EQ(find_continuation({.resets_at = now + seconds(1), .in_row = 1'000}, now), now + minutes(15));
  EXPECT_EQ(find_continuation({.resets_at = now + hours(5), .in_row = 1'000}, now), now + hours(5) + seconds(2));
}

TEST(UsageLimit, reason_says_when_the_run_continues) {
  EXPECT_EQ(describe_limit("claude", now + minutes(311), "5-hour window"),
            "usage limit of claude: continues at 2026-11-19 17:11 UTC (5-hour window)");
  EXPECT_EQ(describe_limit("codex", now, ""), "usage limit of codex: continues at 2026-11-19 12:00 UTC");
}

}  // namespace
}  // namespace reeve::engine
