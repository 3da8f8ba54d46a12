#include "os/file.h"

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::os {
namespace {

TEST(File, found_file_is_read_whole) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(find_file(folder.write("some", "text\n"), 5), "text\n");
  EXPECT_EQ(find_file(folder.write("empty", ""), 5), "");
}

TEST(File, missing_unreadable_and_too_large_files_are_not_found) {
  const testing::ScratchFolder folder;
  const auto file = folder.write("some", "text\n");
  EXPECT_EQ(find_file(folder.path() / "missing", 5), std::nullopt);
  EXPECT_EQ(find_file(file / "below", 5), std::nullopt);
  EXPECT_EQ(find_file(folder.path(), 5), std::nullopt);
  EXPECT_EQ(find_file(file, 4), std::nullopt);
}

}  // namespace
}  // namespace reeve::os
