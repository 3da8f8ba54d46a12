#include "view/safe_text.h"

#include <gtest/gtest.h>

namespace reeve::view {
namespace {

// LOG-3
TEST(SafeLine, removes_terminal_control_sequences) {
  EXPECT_EQ(safe_line("plain\ttext\n"), "plain\ttext");
  EXPECT_EQ(safe_line("\x1b[1;31merror\x1b[0m: no"), "error: no");
  EXPECT_EQ(safe_line("\x1b]0;a title\x07yes \x1b]8;;http://x\x1b\\link"), "yes link");
  EXPECT_EQ(safe_line("\x1b(Bset \x1b=app \x1bPq#1\x1b\\end"), "set app end");
  EXPECT_EQ(safe_line("10 %\r50 %\r100 %\r\n"), "100 %");
  EXPECT_EQ(safe_line("Größe ✓"), "Größe ✓");
  for (const std::string_view broken : {"\x1b", "\x1b[12", "\x1b]0;never ends", "a\x1b[\x01m", "\b\b", "\x9b", "\x7f",
                                        "\xc2\x9b"
                                        "31m"}) {
    for (const char c : safe_line(broken)) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << broken;
    EXPECT_EQ(safe_line(broken).find('\x7f'), std::string::npos);
    EXPECT_EQ(safe_line(broken).find("\xc2\x9b"), std::string::npos);
  }
}

}  // namespace
}  // namespace reeve::view
