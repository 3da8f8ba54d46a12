#include "runtime/runs/activity_clock.h"

#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

const base::WallTime start(std::chrono::hours(24));

os::TreeActivity usage(int cpu_ms, std::uint64_t io_bytes) {
  return {.cpu = base::Milliseconds(cpu_ms), .io_bytes = io_bytes};
}

TEST(ActivityClock, only_new_cpu_or_io_moves_it) {
  ActivityClock clock;
  EXPECT_EQ(clock.last(), std::nullopt);
  const auto at = [](int seconds) { return start + std::chrono::seconds(seconds); };
  clock.note(usage(10, 100), at(0));
  EXPECT_EQ(clock.last(), at(0));
  clock.note(usage(10, 100), at(15));
  EXPECT_EQ(clock.last(), at(0));
  clock.note(usage(10, 101), at(30));
  EXPECT_EQ(clock.last(), at(30));
  clock.note(usage(11, 101), at(45));
  EXPECT_EQ(clock.last(), at(45));
  // A child has ended.
  clock.note(usage(5, 20), at(60));
  EXPECT_EQ(clock.last(), at(60));
  clock.note(usage(5, 20), at(75));
  EXPECT_EQ(clock.last(), at(60));
}

}  // namespace
}  // namespace reeve::runtime
