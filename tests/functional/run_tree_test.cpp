#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// A run is its whole process tree: everything that a tool started ends with it, and nothing else does.
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
  // Waits for that many pids written by a fake agent.
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

// RUN-17: it left the group, the session and its parent.
TEST_F(RunTree, daemonised_grandchild_ends_with_the_run) {
  const Outcome outcome = run({}, {"double-fork", pids_file().string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto pids = read_pids(1);
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_FALSE(is_alive(pids[0]));
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// RUN-17
TEST_F(RunTree, keep_descendants_lets_them_live) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "], keep_descendants: true}\n");
  EXPECT_EQ(run({"--tool", "zoo"}, {"double-fork", pids_file().string()}).code, 0);
  const auto pids = read_pids(1);
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_EQ(show("TR-1")["status"], "completed");
  EXPECT_TRUE(is_alive(pids[0]));
  ::kill(pids[0], SIGKILL);
}

// RUN-17: the run ends when its process does, not when the last holder of its output does.
TEST_F(RunTree, child_holding_the_output_does_not_delay_the_end) {
  const Outcome outcome = run({"--timeout", "20s"}, {"hold-pipe", "1000"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(tools().empty());
}

// RUN-4: the whole tree, including processes in other sessions.
TEST_F(RunTree, a_timeout_ends_every_child) {
  const Outcome outcome = run({"--timeout", "1s"}, {"spawn-children", "10", pids_file().string()});
  EXPECT_EQ(outcome.code, 124) << outcome.err;
  const auto pids = read_pids(10);
  EXPECT_EQ(pids.size(), 10U);
  for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
}

// RUN-4: processes that multiply faster than they can be listed.
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

// RUN-14
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

// RUN-4: a stopped process cannot react to SIGTERM, and is still ended.
TEST_F(RunTree, a_stopped_tool_can_be_cancelled) {
  const auto client = start(run_words({}, {"stop-self"}));
  ASSERT_TRUE(client->wait_for("ready\n"));
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_TRUE(tools().empty());
}

}  // namespace
}  // namespace reeve
