#include "base/base64.h"

#include <gtest/gtest.h>

namespace reeve::base {
namespace {

using namespace std::string_view_literals;

// The vectors of RFC 4648 §10.
TEST(Base64, encodes_with_padding) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode_base64("\0\xff\x10"sv), "AP8Q");
}

}  // namespace
}  // namespace reeve::base
