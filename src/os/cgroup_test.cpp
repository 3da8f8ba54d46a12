#include "os/cgroup.h"

#include <chrono>
#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/spawn.h"
#include "os/tree.h"

namespace reeve::os {
namespace {

// DESIGN «Killing a tree»: where a writable subtree exists; elsewhere there is nothing to make, and that is told.
TEST(Cgroup, ends_all_that_began_inside) {
  const auto parent = Cgroup::find_parent();
  if (!parent) {
    EXPECT_FALSE(Cgroup::make("/sys/fs/cgroup/nowhere", "x"));
    return;
  }
  auto group = Cgroup::make(*parent, "reeve-test-" + std::to_string(::getpid()));
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->is_empty());
  Pipe pipe = make_pipe();
  ASSERT_TRUE(group->enter());
  SpawnPlan plan{.argv = {"sh", "-c", "setsid sh -c 'sleep 1000 & echo ready; sleep 1000' & wait"},
                 .environment = {"PATH=/usr/bin:/bin"}};
  plan.output = pipe.write.get();
  auto process = spawn(plan);
  ASSERT_TRUE(group->leave());
  ASSERT_TRUE(process);
  pipe.write = Fd();
  char byte = 0;
  ASSERT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  EXPECT_FALSE(group->is_empty());
  EXPECT_TRUE(group->kill());
  EXPECT_EQ(process->wait().signal, SIGKILL);
  EXPECT_TRUE(group->wait_empty(std::chrono::seconds(20)));
  EXPECT_TRUE(group->remove());
}

}  // namespace
}  // namespace reeve::os
