#include "os/cgroup.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/spawn.h"
#include "os/tree.h"
#include "tests/support/files.h"

namespace reeve::os {
namespace {

// DESIGN "Killing a tree": where a writable subtree exists; elsewhere creating a cgroup fails cleanly.
TEST(Cgroup, ends_every_process_inside) {
  const auto parent = Cgroup::find_parent();
  if (!parent) {
    EXPECT_FALSE(Cgroup::make("/sys/fs/cgroup/nowhere", "x"));
    return;
  }
  auto group = Cgroup::make(*parent, "reeve-test-" + std::to_string(::getpid()));
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->is_empty());
  Pipe pipe = make_pipe();
  const Fd folder = group->open();
  ASSERT_TRUE(folder);
  SpawnPlan plan{.argv = {"sh", "-c", "setsid sh -c 'sleep 1000 & echo ready; sleep 1000' & wait"},
                 .environment = {"PATH=/usr/bin:/bin"}};
  plan.output = pipe.write.get();
  plan.group = folder.get();
  auto process = spawn(plan);
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

// Both ways of starting a process report the same errors, and give the child the same environment.
TEST(Cgroup, process_started_inside_matches_one_started_outside) {
  const auto parent = Cgroup::find_parent();
  if (!parent) return;
  auto group = Cgroup::make(*parent, "reeve-test-born-" + std::to_string(::getpid()));
  ASSERT_TRUE(group);
  const testing::ScratchFolder scratch;
  const std::filesystem::path bad = scratch.write("bad", "#!/no/such/interpreter\n");
  const std::filesystem::path plain = scratch.write("plain", "no program");
  std::filesystem::permissions(bad, std::filesystem::perms::owner_all);
  std::filesystem::permissions(plain, std::filesystem::perms::owner_all);
  const Fd folder = group->open();
  const auto start = [&](std::vector<std::string> argv, int where) {
    SpawnPlan plan{.argv = std::move(argv), .environment = {"PATH=/usr/bin:/bin"}};
    plan.group = where;
    return spawn(plan);
  };
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{bad.string()}, {plain.string()}, {"/bin/true", std::string(3 << 20, 'x')}}) {
    const auto inside = start(argv, folder.get());
    const auto outside = start(argv, -1);
    ASSERT_FALSE(inside || outside);
    EXPECT_EQ(inside.error().error_number, outside.error().error_number);
    EXPECT_EQ(inside.error().stage, outside.error().stage);
  }
  // Compares signals, descriptors, session.
  const std::string look =
      "ls -l /proc/self/fd | wc -l; grep SigBlk /proc/self/status; ps -o sid= -p $$ | grep -qw $$ && echo leader";
  const auto tell = [&](int where) {
    Pipe pipe = make_pipe();
    SpawnPlan plan{.argv = {"sh", "-c", look}, .environment = {"PATH=/usr/bin:/bin"}};
    plan.output = pipe.write.get();
    plan.group = where;
    auto process = spawn(plan);
    EXPECT_TRUE(process);
    pipe.write = Fd();
    std::string text;
    char byte = 0;
    while (::read(pipe.read.get(), &byte, 1) == 1) text += byte;
    EXPECT_EQ(process->wait().code, 0);
    return text;
  };
  const std::string inside = tell(folder.get());
  EXPECT_EQ(inside, tell(-1));
  EXPECT_TRUE(inside.ends_with("leader\n")) << inside;
  EXPECT_TRUE(group->wait_empty(std::chrono::seconds(20)));
  EXPECT_TRUE(group->remove());
}

}  // namespace
}  // namespace reeve::os
