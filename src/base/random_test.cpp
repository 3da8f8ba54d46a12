#include "base/random.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace reeve::base {
namespace {

TEST(Random, same_seed_repeats_the_sequence) {
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

TEST(Random, hex_has_two_digits_for_each_byte) {
  const std::string hex = random_hex(16);
  EXPECT_EQ(hex.size(), 32);
  EXPECT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(random_hex(16), hex);
  EXPECT_EQ(random_hex(0), "");
}

}  // namespace
}  // namespace reeve::base
