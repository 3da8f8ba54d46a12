#include "runtime/notify/secret_file.h"

#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SecretFile : public ::testing::Test {
 protected:
  fs::path write(const std::string& text, mode_t mode) const {
    fs::path file = scratch_.write("key", text);
    ::chmod(file.c_str(), mode);
    return file;
  }
  std::string refusal(const fs::path& file) const {
    const auto key = read_secret_file(file);
    return key ? "accepted: " + *key : key.error();
  }
  const testing::ScratchFolder scratch_;
};

TEST_F(SecretFile, final_line_break_is_not_part_of_the_key) {
  EXPECT_EQ(read_secret_file(write("s3cr3t \n", 0600)), "s3cr3t ");
  EXPECT_EQ(read_secret_file(write("s3cr3t", 0400)), "s3cr3t");
}

TEST_F(SecretFile, only_a_private_regular_file_is_read) {
  EXPECT_THAT(refusal(write("x", 0640)), HasSubstr("chmod 600"));
  EXPECT_THAT(refusal(write("x", 0604)), HasSubstr("others can access it"));
  EXPECT_THAT(refusal(write("\n", 0600)), HasSubstr("it is empty"));
  EXPECT_THAT(refusal(write(std::string(5'000, 'x'), 0600)), HasSubstr("longer than"));
  EXPECT_THAT(refusal(scratch_.path()), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(scratch_.path() / "none"), HasSubstr("No such file"));
  EXPECT_THAT(refusal("key"), HasSubstr("absolute"));
  const fs::path pipe = scratch_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace reeve::runtime
