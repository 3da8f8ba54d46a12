#include "os/write.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/fd.h"
#include "os/spawn.h"
#include "tests/support/files.h"

namespace reeve::os {
namespace {

TEST(Write, text_is_written_whole) {
  const testing::ScratchFolder folder;
  const Fd file(::open((folder.path() / "some").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  EXPECT_TRUE(write_all(file.get(), "first "));
  EXPECT_TRUE(write_all(file.get(), ""));
  EXPECT_TRUE(write_all(file.get(), "second"));
  EXPECT_EQ(testing::read_text(folder.path() / "some"), "first second");
}

TEST(Write, full_non_blocking_pipe_is_waited_for) {
  Pipe pipe = make_pipe();
  ASSERT_EQ(::fcntl(pipe.write.get(), F_SETFL, O_NONBLOCK), 0);
  // More than a pipe holds.
  const std::string text(1UL << 20U, 'x');
  std::string received;
  std::thread reader([&] {
    std::string block(4'096, '\0');
    while (received.size() < text.size()) {
      const ssize_t count = ::read(pipe.read.get(), block.data(), block.size());
      if (count <= 0) return;
      received.append(block, 0, static_cast<std::size_t>(count));
    }
  });
  EXPECT_TRUE(write_all(pipe.write.get(), text));
  pipe.write = Fd();
  reader.join();
  EXPECT_EQ(received, text);
}

TEST(Write, failure_sets_errno) {
  const Fd file(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  EXPECT_FALSE(write_all(file.get(), "x"));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace reeve::os
