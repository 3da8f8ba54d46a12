#include "os/claim.h"

#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace reeve::os {
namespace {

std::string name_of(const char* what) { return "reeve-test-" + std::to_string(::getpid()) + "-" + what; }

TEST(Claim, has_one_holder_and_names_it) {
  const std::string name = name_of("one");
  EXPECT_FALSE(Claim::find_holder(name));
  {
    const auto claim = Claim::try_take(name);
    ASSERT_TRUE(claim);
    EXPECT_FALSE(Claim::try_take(name));
    for (int i = 0; i < 3; ++i) {
      const auto holder = Claim::find_holder(name);
      ASSERT_TRUE(holder);
      EXPECT_EQ(holder->pid, ::getpid());
    }
    claim->drain();
    EXPECT_TRUE(Claim::find_holder(name));
  }
  EXPECT_TRUE(Claim::try_take(name));
}

}  // namespace
}  // namespace reeve::os
