#include "model/token.h"

#include <gtest/gtest.h>

namespace reeve::model {
namespace {

// APR-12: a name identifies the actor in the audit trail, and must not be mistaken for another one.
TEST(Token, reserved_and_unsafe_names_are_rejected) {
  for (const char* name : {"a", "ci", "anna@example.org", "build-7", "CI_2", "9to5"}) {
    EXPECT_TRUE(is_token_name(name)) << name;
  }
  for (const char* name : {"", " ", "a b", "-a", ".a", "a/b", "a\n", "ä", "TR-1", "AP-4", "EX-9", "reeve", "Reeve",
                           "outside", "a'b", "a;b"}) {
    EXPECT_FALSE(is_token_name(name)) << name;
  }
  EXPECT_TRUE(is_token_name(std::string(64, 'a')));
  EXPECT_FALSE(is_token_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace reeve::model
