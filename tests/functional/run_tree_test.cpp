#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// A run is its whole tree: whatever a tool started ends with it, and nothing else does.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::is_alive;
using testing::Members;
using testing::Outcome;
using testing::Session;

class RunTree : public testing::DaemonTest {
 protected:
  fs::path pids_file() const { return project() / "pids"; }
  // As many as a fake agent has written down.
  std::vector<pid_t> read_pids(std::size_t count) const {
    std::vector<pid_t> pids;
    EXPECT_TRUE(testing::eventually([&] {
      pids.clear();
      std::ifstream file(pids_file());
      for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
      return pids.size() >= count;
    }));
    return pids;
  }
};

// RUN-17: it left the group and the session, and its parent.
TEST_F(RunTree, a_grandchild_that_got_away_ends_with_the_run) {
  const Outcome outcome = run({}, {"double-fork", pids_file().string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto pids = read_pids(1);
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_FALSE(is_alive(pids[0]));
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// RUN-17
TEST_F(RunTree, descendants_live_on_where_the_profile_says_so) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "], keep_descendants: true}\n");
  EXPECT_EQ(run({"--tool", "zoo"}, {"double-fork", pids_file().string()}).code, 0);
  const auto pids = read_pids(1);
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_EQ(show("TR-1")["status"], "completed");
  EXPECT_TRUE(is_alive(pids[0]));
  ::kill(pids[0], SIGKILL);
}

// RUN-17: the run is over when its process is, not when the last holder of its output is.
TEST_F(RunTree, a_child_that_holds_the_output_does_not_hold_the_run) {
  const Outcome outcome = run({"--timeout", "20s"}, {"hold-pipe", "1000"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(tools().empty());
}

// RUN-4: the whole tree, sessions of their own included.
TEST_F(RunTree, a_timeout_ends_every_child) {
  const Outcome outcome = run({"--timeout", "1s"}, {"spawn-children", "10", pids_file().string()});
  EXPECT_EQ(outcome.code, 124) << outcome.err;
  const auto pids = read_pids(10);
  EXPECT_EQ(pids.size(), 10U);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
}

// RUN-4: one that multiplies faster than a list of its processes can be made.
TEST_F(RunTree, a_storm_of_forks_is_ended) {
  const auto client = start(run_words({}, {"fork-storm", "20", "1000"}));
  ASSERT_TRUE(client->wait_for("ready\n"));
  client->signal(SIGINT);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_EQ(show("TR-1")["status"], "cancelled");
  EXPECT_TRUE(tools().empty());
}

// RUN-4: never by name.
TEST_F(RunTree, a_stranger_of_the_same_name_survives) {
  const auto stranger = std::make_unique<Session>(testing::Launch{.argv = {testing::zoo_binary(), "hang"}});
  ASSERT_TRUE(stranger->wait_for("ready\n"));
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "], kill_grace: 100ms, timeout: 300ms}\n");
  EXPECT_EQ(run({"--tool", "zoo"}, {"hang"}).code, 124);
  EXPECT_EQ(run({}, {"double-fork", pids_file().string()}).code, 0);
  EXPECT_FALSE(stranger->is_over());
  EXPECT_TRUE(is_alive(stranger->pid()));
}

// RUN-14: one run's end is no other's.
TEST_F(RunTree, another_run_of_the_same_tool_survives) {
  const std::string first = detach({}, {"hang"});
  const std::string second = detach({}, {"wait-file", (project() / "go").string()});
  wait_for_output(first, "ready");
  wait_for_output(second, "waiting");
  EXPECT_EQ(reeve({"cancel", first, "--kill"}).code, 0);
  EXPECT_EQ(finish(first)["status"], "cancelled");
  EXPECT_EQ(show(second)["status"], "running");
  scratch().write("project/go", "");
  EXPECT_EQ(finish(second)["status"], "completed");
}

// RUN-4: a stopped process cannot obey, and ends all the same.
TEST_F(RunTree, a_stopped_tool_can_be_cancelled) {
  const auto client = start(run_words({}, {"stop-self"}));
  ASSERT_TRUE(client->wait_for("ready\n"));
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_TRUE(tools().empty());
}

}  // namespace
}  // namespace reeve
