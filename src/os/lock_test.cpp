#include "os/lock.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/spawn.h"
#include "tests/support/files.h"

namespace reeve::os {
namespace {

TEST(Lock, has_one_holder_and_queries_do_not_take_it) {
  const testing::ScratchFolder folder;
  const std::string path = (folder.path() / "lock").string();
  EXPECT_EQ(FileLock::query(path), FileLock::State::free);
  {
    const auto lock = FileLock::try_take(path);
    ASSERT_TRUE(lock);
    EXPECT_EQ(FileLock::query(path), FileLock::State::held);
    EXPECT_EQ(FileLock::query(path), FileLock::State::held);
    EXPECT_FALSE(FileLock::try_take(path));
  }
  EXPECT_EQ(FileLock::query(path), FileLock::State::free);
}

// RUN-13: a keeper's lock ends with it, however it ends.
TEST(Lock, is_freed_when_its_process_is_killed) {
  const testing::ScratchFolder folder;
  const std::string path = (folder.path() / "lock").string();
  const Pipe ready = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::try_take(path);
    const char byte = lock ? '1' : '0';
    if (::write(ready.write.get(), &byte, 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready.read.get(), &byte, 1), 1);
  ASSERT_EQ(byte, '1');
  EXPECT_EQ(FileLock::query(path), FileLock::State::held);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(FileLock::query(path), FileLock::State::free);
}

}  // namespace
}  // namespace reeve::os
