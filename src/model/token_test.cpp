#include "model/token.h"

#include <gtest/gtest.h>

namespace reeve::model {
namespace {

// APR-12: a name stands in the audit trail for who did it, and must not be taken for somebody else.
TEST(Token, names_are_plain_and_ones_own) {
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
