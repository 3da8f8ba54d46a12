#include "base/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Duration, parses_common_units) {
  EXPECT_EQ(parse_duration("90"), seconds(90));
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("90s"), seconds(90));
  EXPECT_EQ(parse_duration("5m"), minutes(5));
  EXPECT_EQ(parse_duration("2h"), hours(2));
  EXPECT_EQ(parse_duration("3d"), hours(72));
  EXPECT_EQ(parse_duration("0"), seconds(0));
}

TEST(Duration, rejects_invalid_durations) {
  for (const char* text : {"", "s", "-5s", "+5s", "1.5h", "5 m", "5M", "5min", "1h30m", " 5s", "5s ", "99999999999999d",
                           "0x10", "off", "18446744073709551616"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, is_written_in_the_largest_unit_that_is_exact) {
  EXPECT_EQ(format_duration(seconds(300)), "5m");
  EXPECT_EQ(format_duration(seconds(90)), "90s");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(format_duration(hours(48)), "2d");
  EXPECT_EQ(format_duration(seconds(0)), "0s");
}

TEST(TimeLimit, can_be_off) {
  EXPECT_EQ(parse_time_limit("off"), TimeLimit::off());
  EXPECT_EQ(parse_time_limit("never"), TimeLimit::off());
  EXPECT_EQ(parse_time_limit("5m"), TimeLimit::of(minutes(5)));
  EXPECT_FALSE(parse_time_limit("Off"));
  EXPECT_EQ(format_time_limit(TimeLimit::off()), "off");
}

RC_GTEST_PROP(Duration, round_trips_any_duration, ()) {
  const Milliseconds duration(*rc::gen::inRange<std::int64_t>(0, 300'000'000'000));
  RC_ASSERT(parse_duration(format_duration(duration)) == duration);
}

TEST(ByteSize, parses_binary_units) {
  EXPECT_EQ(parse_byte_size("4096"), ByteSize{4096});
  EXPECT_EQ(parse_byte_size("64KiB"), ByteSize{65536});
  EXPECT_EQ(parse_byte_size("1GiB"), ByteSize{1ULL << 30U});
  for (const char* text : {"", "1GB", "-1", "1.5MiB", "1 MiB", "99999999999TiB"}) {
    EXPECT_FALSE(parse_byte_size(text)) << text;
  }
}

RC_GTEST_PROP(ByteSize, round_trips_any_size, ()) {
  const ByteSize size{*rc::gen::inRange<std::uint64_t>(0, 1ULL << 60U)};
  RC_ASSERT(parse_byte_size(format_byte_size(size)) == size);
}

}  // namespace
}  // namespace reeve::base
