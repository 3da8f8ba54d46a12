#include "base/sha256_stream.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace reeve::base {
namespace {

TEST(Sha256Stream, pieces_have_the_digest_of_the_whole) {
  Sha256Stream stream;
  stream.add("one ");
  stream.add("");
  stream.add("two");
  EXPECT_EQ(stream.finish(), sha256_hex("one two"));
  EXPECT_EQ(Sha256Stream().finish(), sha256_hex(""));
}

}  // namespace
}  // namespace reeve::base
