#include "engine/stall.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::engine {
namespace {

using model::Liveness;
using std::chrono::milliseconds;
using std::chrono::seconds;

const base::BootTime start(std::chrono::hours(1));
const auto limit = base::TimeLimit::of(seconds(300));

StallDecision check(const Silence& silence, seconds after, const Activity& seen = {},
                    Liveness liveness = Liveness::activity) {
  return check_stall(limit, liveness, silence, start + after, seen);
}

// RUN-5
TEST(Stall, warns_at_half_the_limit_and_stalls_at_the_limit) {
  Silence silence{start, {}};
  EXPECT_EQ(check(silence, seconds(149)).verdict, StallVerdict::wait);
  EXPECT_EQ(check(silence, seconds(149)).look_again, start + seconds(150));
  EXPECT_EQ(check(silence, seconds(150)).verdict, StallVerdict::half_time);
  EXPECT_EQ(check(silence, seconds(150)).look_again, start + seconds(300));
  silence.at_half = Activity{};
  EXPECT_EQ(check(silence, seconds(299)).verdict, StallVerdict::wait);
  EXPECT_EQ(check(silence, seconds(300)).verdict, StallVerdict::stalled);
}

// RUN-5: a silent but working build is never killed for silence.
TEST(Stall, cpu_and_io_activity_prevents_a_stall) {
  const Silence silence{start, Activity{seconds(10), 1000}};
  EXPECT_EQ(check(silence, seconds(300), {seconds(10) + milliseconds(1500), 1000}).verdict, StallVerdict::at_work)
      << "1 % of 150 s";
  EXPECT_EQ(check(silence, seconds(300), {seconds(10) + milliseconds(1499), 1000}).verdict, StallVerdict::stalled);
  EXPECT_EQ(check(silence, seconds(300), {seconds(10), 1000 + 4096}).verdict, StallVerdict::at_work);
  EXPECT_EQ(check(silence, seconds(300), {seconds(10), 1000 + 4095}).verdict, StallVerdict::stalled);
}

// RUN-5: `liveness: output` considers only output and heartbeats.
TEST(Stall, output_liveness_ignores_activity) {
  const Silence silence{start, Activity{}};
  EXPECT_EQ(check(silence, seconds(300), {seconds(150), 1 << 30}, Liveness::output).verdict, StallVerdict::stalled);
}

// RUN-3: `off` is allowed.
TEST(Stall, never_happens_without_a_limit) {
  const StallDecision decision =
      check_stall(base::TimeLimit::off(), Liveness::output, {start, Activity{}}, start + seconds(1'000'000), {});
  EXPECT_EQ(decision.verdict, StallVerdict::wait);
  EXPECT_FALSE(decision.look_again);
  EXPECT_FALSE(is_due(base::TimeLimit::off(), {start, {}}, start + seconds(1'000'000)));
}

// A daemon that was not running has not watched: it warns before it decides.
TEST(Stall, returning_daemon_warns_before_it_decides) {
  const StallDecision decision = check({start, {}}, seconds(5'000));
  EXPECT_EQ(decision.verdict, StallVerdict::half_time);
  EXPECT_EQ(decision.look_again, start + seconds(5'150));
}

// The activity is sampled twice per silence, and only then.
RC_GTEST_PROP(Stall, measures_activity_only_when_due, ()) {
  const auto after = seconds(*rc::gen::inRange(0, 1000));
  const Silence silence{start, *rc::gen::arbitrary<bool>() ? std::optional(Activity{}) : std::nullopt};
  const StallDecision decision = check(silence, after);
  RC_ASSERT(is_due(limit, silence, start + after) == (decision.verdict != StallVerdict::wait));
  if (decision.verdict == StallVerdict::wait) RC_ASSERT(decision.look_again.value() > start + after);
}

}  // namespace
}  // namespace reeve::engine
