#include "runtime/loop/hold_map.h"

#include <functional>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HoldMap, value_lives_as_long_as_its_hold) {
  const Loop loop;
  HoldMap<int, std::string> map(loop);
  const Loop::Hold first = map.add(1, "first");
  {
    const Loop::Hold second = map.add(1, "second");
    const Loop::Hold other = map.add(2, "other");
    EXPECT_THAT(map.find(1), ElementsAre("first", "second"));
    EXPECT_THAT(map.find(2), ElementsAre("other"));
  }
  EXPECT_THAT(map.find(1), ElementsAre("first"));
  EXPECT_THAT(map.find(2), IsEmpty());
  EXPECT_FALSE(map.is_empty());
}

TEST(HoldMap, taken_value_is_removed) {
  const Loop loop;
  HoldMap<int, std::string> map(loop);
  const Loop::Hold first = map.add(1, "first");
  const Loop::Hold second = map.add(1, "second");
  const Loop::Hold other = map.add(2, "second");
  EXPECT_THAT(map.take(1, [](const std::string& value) { return value == "second"; }), ElementsAre("second"));
  EXPECT_THAT(map.find(1), ElementsAre("first"));
  EXPECT_THAT(map.find(2), ElementsAre("second"));
}

TEST(HoldMap, a_hold_may_outlive_the_map) {
  Loop::Hold hold;
  {
    const Loop loop;
    HoldMap<int, std::string> map(loop);
    hold = map.add(1, "value");
  }
  hold = {};
}

// A waiter that is never answered owns its own hold; it ends with the map.
TEST(HoldMap, a_value_may_keep_its_own_hold) {
  struct Waiting {
    Loop::Hold hold;
  };
  std::weak_ptr<Waiting> seen;
  {
    const Loop loop;
    HoldMap<int, std::function<void()>> map(loop);
    auto waiting = std::make_shared<Waiting>();
    seen = waiting;
    waiting->hold = map.add(1, [waiting] {});
    waiting.reset();
    EXPECT_FALSE(seen.expired());
    EXPECT_EQ(map.find(1).size(), 1U);
  }
  EXPECT_TRUE(seen.expired());
}

// The last owner of a value may be the value itself.
TEST(HoldMap, value_can_end_its_own_hold) {
  const Loop loop;
  HoldMap<int, std::function<void()>> map(loop);
  auto hold = std::make_shared<Loop::Hold>();
  *hold = map.add(1, [hold] { *hold = {}; });
  hold.reset();
  for (const auto& call : map.find(1)) call();
  EXPECT_TRUE(map.is_empty());
}

}  // namespace
}  // namespace reeve::runtime
