#include "base/glob.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

TEST(Glob, matches_the_whole_text) {
  EXPECT_TRUE(matches_glob("src/*.cpp", "src/a.cpp"));
  EXPECT_FALSE(matches_glob("src/*.cpp", "src/net/a.cpp")) << "one star stays in its folder";
  EXPECT_TRUE(matches_glob("src/**", "src/net/a.cpp"));
  EXPECT_TRUE(matches_glob("**/a.cpp", "src/net/a.cpp"));
  EXPECT_FALSE(matches_glob("src", "src/a"));
  EXPECT_FALSE(matches_glob("src/**", "other/src/a"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_FALSE(matches_glob("a?c", "a/c"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_TRUE(matches_glob("[a]", "[a]")) << "brackets are themselves";
}

// The classic pattern with exponential time in a backtracking matcher.
TEST(Glob, runs_in_bounded_time) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(matches_glob(pattern + "b", std::string(5'000, 'a')));
}

RC_GTEST_PROP(Glob, text_matches_itself_and_a_double_star, (const std::string& text)) {
  RC_ASSERT(matches_glob("**", text));
  if (text.find_first_of("*?") == std::string::npos) RC_ASSERT(matches_glob(text, text));
}

}  // namespace
}  // namespace reeve::base
