#include "cli/live/live_screen.h"

#include <gtest/gtest.h>

namespace reeve::cli {
namespace {

TEST(LiveScreen, colour_codes_have_no_width) {
  EXPECT_EQ(painted_width("\x1b[36m●\x1b[0m build"), 7);
  EXPECT_EQ(painted_width(""), 0);
  EXPECT_EQ(painted_width("\x1b[1m"), 0);
}

}  // namespace
}  // namespace reeve::cli
