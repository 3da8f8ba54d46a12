#include "os/lineage.h"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/spawn.h"
#include "os/tree.h"
#include "tests/support/session.h"

namespace reeve::os {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

TEST(Lineage, reaches_up_to_the_first_process) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self);
  auto child = spawn({.argv = {"/bin/sleep", "1000"}, .environment = {"REEVE_RUN_ID=TR-7", "REEVE_RUN=x"}});
  ASSERT_TRUE(child);
  const auto id = identify(child->pid());
  ASSERT_TRUE(id);
  const auto lineage = find_lineage(*id);
  ASSERT_GE(lineage.size(), 2U);
  EXPECT_EQ(lineage[0], *id);
  EXPECT_EQ(lineage[1], *self);
  EXPECT_EQ(lineage.back().pid, 1);
  EXPECT_TRUE(testing::eventually([&] { return variable_of(child->pid(), "REEVE_RUN_ID") == "TR-7"; }));
  EXPECT_EQ(variable_of(child->pid(), "REEVE_RUN"), "x");
  EXPECT_FALSE(variable_of(child->pid(), "REEVE"));
  child->signal(SIGKILL);
  child->wait();
}

// APR-11: ancestors that end during the inspection do not hide those above them.
TEST(Lineage, is_complete_while_parents_exit) {
  const auto self = identify(::getpid());
  ASSERT_TRUE(self);
  // Each child of the second shell loses its parent at once, and is adopted by the subreaper.
  auto child = spawn({.argv = {"/bin/sh", "-c", "while :; do sh -c 'sh -c \"sleep 0.02\" & exit 0'; done"},
                      .environment = {"PATH=/usr/bin:/bin"}});
  ASSERT_TRUE(child);
  become_subreaper();
  int looked_at = 0;
  EXPECT_TRUE(testing::eventually([&] {
    for (const ProcessId& id : find_descendants(::getpid())) {
      const auto lineage = find_lineage(id);
      if (lineage.empty()) continue;
      EXPECT_THAT(lineage, Contains(*self)) << id.pid;
      ++looked_at;
    }
    collect_children(child->pid());
    return looked_at > 300 || ::testing::Test::HasFailure();
  }));
  child->signal(SIGKILL);
  child->wait();
  kill_descendants(std::chrono::seconds(20));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

// APR-11: an ended process has no reliable lineage.
TEST(Lineage, lineage_of_an_ended_process_is_empty) {
  auto child = spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(child);
  const auto id = identify(child->pid());
  ASSERT_TRUE(id);
  EXPECT_THAT(find_lineage({id->pid, id->started + 1}), IsEmpty()) << "a reused pid";
  child->signal(SIGKILL);
  EXPECT_TRUE(testing::eventually([&] { return find_lineage(*id).empty(); }));
  child->wait();
  EXPECT_THAT(find_lineage(*id), IsEmpty());
}

TEST(Lineage, program_is_recognised_by_file_and_first_argument) {
  auto child = spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(child);
  // The parent may resume a moment before the arguments of the new program can be read.
  EXPECT_TRUE(testing::eventually([&] { return runs_program(child->pid(), "sleep", "1000"); }));
  EXPECT_FALSE(runs_program(child->pid(), "sleep", "100"));
  EXPECT_FALSE(runs_program(child->pid(), "leep", "1000"));
  child->signal(SIGKILL);
  child->wait();
}

}  // namespace
}  // namespace reeve::os
