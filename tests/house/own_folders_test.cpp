#include "tests/support/own_folders.h"

#include <cstdlib>
#include <pwd.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace reeve::testing {
namespace {

// A test that used the user's own folders would read their config, and could lose their state.
TEST(House, tests_use_no_folder_of_the_user) {
  const passwd* user = ::getpwuid(::geteuid());
  ASSERT_NE(user, nullptr);
  const std::string home = user->pw_dir;
  ASSERT_NE(std::getenv("HOME"), nullptr);
  EXPECT_NE(std::getenv("HOME"), home);
  EXPECT_EQ(std::getenv("XDG_CONFIG_HOME"), nullptr);
  EXPECT_EQ(std::getenv("XDG_STATE_HOME"), nullptr);
  EXPECT_NONFATAL_FAILURE(expect_scratch_folders({{"HOME", home + "/"}, {"LANG", home}}), "a folder of the user");
  expect_scratch_folders({{"HOME", "/tmp/reeve-test"}, {"LANG", home}});
}

}  // namespace
}  // namespace reeve::testing
