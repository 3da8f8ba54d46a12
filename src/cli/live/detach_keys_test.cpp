#include "cli/live/detach_keys.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

std::string typed(DetachKeys& keys, std::string_view bytes) {
  const auto pressed = keys.press(bytes);
  return pressed.input + (pressed.detaches ? "<detach>" : "");
}

TEST(DetachKeys, are_detected_across_reads) {
  DetachKeys keys;
  EXPECT_EQ(typed(keys, "ls\r"), "ls\r");
  EXPECT_EQ(typed(keys, "a\x10\x11zzz"), "a<detach>");
  EXPECT_EQ(typed(keys, "\x10"), "");
  EXPECT_EQ(typed(keys, "\x11"), "<detach>");
}

TEST(DetachKeys, pass_every_other_key_to_the_tool) {
  DetachKeys keys;
  EXPECT_EQ(typed(keys, "\x11"), "\x11");
  EXPECT_EQ(typed(keys, "\x10"), "");
  EXPECT_EQ(typed(keys, "x"), "\x10x");
  EXPECT_EQ(typed(keys, "\x10\x10\x10q"), "\x10\x10\x10q");
  EXPECT_EQ(typed(keys, "\x10\x10"), "\x10");
  EXPECT_EQ(typed(keys, "\x11"), "<detach>");
}

}  // namespace
}  // namespace reeve::cli
