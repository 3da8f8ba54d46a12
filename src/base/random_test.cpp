#include "base/random.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace reeve::base {
namespace {

TEST(Random, seeded_repeats_itself) {
  SeededRandom first(42);
  SeededRandom second(42);
  SeededRandom other(43);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.push_back(first.below(1'000'000));
  bool differs = false;
  for (const std::uint64_t number : drawn) {
    EXPECT_EQ(second.below(1'000'000), number);
    differs = differs || other.below(1'000'000) != number;
  }
  EXPECT_TRUE(differs);
}

TEST(Random, stays_below_its_bound_and_reaches_all) {
  SeededRandom random(7);
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) ++seen.at(random.below(5));
  for (const int count : seen) EXPECT_GT(count, 100);
}

TEST(Random, fills_odd_lengths) {
  SystemRandom random;
  std::array<std::byte, 37> bytes{};
  random.fill(bytes);
  EXPECT_NE(bytes, (std::array<std::byte, 37>{}));
}

}  // namespace
}  // namespace reeve::base
