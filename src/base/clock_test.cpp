#include "base/clock.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

TEST(Clock, writes_utc_with_milliseconds) {
  EXPECT_EQ(format_time(WallTime(Milliseconds(0))), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(WallTime(Milliseconds(1'794'722'872'007))), "2026-11-15T06:07:52.007Z");
}

TEST(Clock, reads_any_number_of_digits) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:01Z"), WallTime(Milliseconds(1000)));
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.5Z"), WallTime(Milliseconds(500)));
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.123456Z"), WallTime(Milliseconds(123)));
}

TEST(Clock, rejects_invalid_times) {
  for (const char* text : {"", "Z", "2026-11-15", "2026-11-15T06:07:52", "2026-13-15T06:07:52Z", "2026-02-30T06:07:52Z",
                           "2026-11-15T24:00:00Z", "2026-11-15T06:07:52.Z", "2026-11-15T06:07:52.xZ",
                           "2026-11-15 06:07:52Z", "2026-11-15T06:07:5aZ", "2026-11-15T06:07:52+01:00"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

RC_GTEST_PROP(Clock, round_trips_any_time, ()) {
  const WallTime time(Milliseconds(*rc::gen::inRange<std::int64_t>(0, 253'402'300'799'999)));
  RC_ASSERT(parse_time(format_time(time)) == time);
}

TEST(Clock, boot_clock_never_goes_back) {
  const SystemClock clock;
  const BootTime before = clock.boot_now();
  EXPECT_GE(clock.boot_now(), before);
  EXPECT_GT(clock.wall_now().time_since_epoch().count(), 1'700'000'000'000);
}

}  // namespace
}  // namespace reeve::base
