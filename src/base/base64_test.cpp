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

TEST(Base64, decodes_what_it_encodes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_EQ(decode_base64(""), "");
}

TEST(Base64, refuses_other_texts) {
  for (const std::string_view text : {"Z"sv, "Zg"sv, "Zg="sv, "Z==="sv, "===="sv, "Zg==Zg=="sv, "Zm9v "sv, "Zm 9"sv,
                                      "Zm9\n"sv, "Zm-_"sv, "Zm9\0"sv, "Zm9\xff"sv}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

// RFC 4648 §3.5 leaves it to the decoder.
TEST(Base64, ignores_unused_bits_of_the_last_digit) {
  EXPECT_EQ(decode_base64("Zh=="), "f");
  EXPECT_EQ(decode_base64("Zm9="), "fo");
}

}  // namespace
}  // namespace reeve::base
