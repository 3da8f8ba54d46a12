#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Two problems at once: a limit and a crash, a full buffer and an exit, a secret and a restart.
namespace reeve {
namespace {

using testing::Members;
using testing::Words;

class Trouble : public testing::DaemonTest {
 protected:
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  void kill_daemon() const { ASSERT_EQ(::kill(daemon_pid(), SIGKILL), 0); }
  // Only the keepers of runs, which have a tool as child, not those of the pool.
  void signal_keepers(int number) const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find("reeve-keeper hold") != std::string::npos) ::kill(process.pid, number);
    }
  }
  std::string detach_tool(const std::string& tool, const testing::Variables& more = {}) const {
    const testing::Outcome started = reeve({"run", "--detach", "--tool", tool}, more);
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
};

// RUN-12: an unterminated line on one stream blocks nothing, however small the cap is.
TEST_F(Trouble, unfinished_line_does_not_block_the_tool) {
  configure(
      "tools:\n"
      "  other: {command: [sh, -c, 'printf \"working \" >&2; seq 1 200000'], output_cap: 256KiB}\n"
      "  same: {command: [sh, -c, 'head -c 900000 /dev/zero | tr \"\\\\0\" x'], output_cap: 256KiB}\n");
  EXPECT_EQ(reeve({"run", "--tool", "other"}).code, 0);
  const testing::Outcome same = reeve({"run", "--tool", "same"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_TRUE(testing::lines_of(logs("TR-1")).back() == "200000" || logs("TR-1").find("200000\n") != std::string::npos);
}

// RUN-13, RUN-15: a cancelled run is not restarted, whatever its profile says.
TEST_F(Trouble, cancelled_run_is_not_rerun) {
  configure(fmt::format("tools:\n  stubborn: {{command: [{}, hang], kill_grace: 30s, on_interrupted: rerun}}\n",
                        testing::zoo_binary()));
  const std::string id = detach_tool("stubborn");
  wait_for_output(id, "ready");
  ASSERT_EQ(reeve({"cancel", id, "--reason", "enough"}).code, 0);
  signal_keepers(SIGKILL);
  const Members run = finish(id);
  EXPECT_EQ(run.at("status"), "cancelled");
  EXPECT_EQ(run.at("attempt"), "1");
  EXPECT_NE(run.at("reason").find("enough"), std::string::npos);
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// RUN-17, across a restart.
TEST_F(Trouble, a_result_is_remembered_by_the_next_daemon) {
  configure(
      fmt::format("tools:\n  clingy: {{command: [{}, result-no-exit], result_grace: 2s}}\n", testing::zoo_binary()));
  const std::string id = detach_tool("clingy");
  wait_for_output(id, "answer");
  kill_daemon();
  const Members run = finish(id);
  EXPECT_EQ(run.at("status"), "completed");
  EXPECT_EQ(run.at("outcome"), "did_not_exit");
}

// RUN-13: a keeper that does not respond blocks no other run.
TEST_F(Trouble, stopped_keeper_does_not_block_other_runs) {
  const std::string file = (scratch().path() / "go").string();
  const std::string id = detach({}, {"wait-file", file});
  wait_for_output(id, "waiting");
  signal_keepers(SIGSTOP);
  kill_daemon();
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  signal_keepers(SIGCONT);
  std::ofstream(file) << "x";
  EXPECT_EQ(finish(id).at("status"), "completed");
}

// LOG-4: also in what a tool reports to Reeve.
TEST_F(Trouble, secrets_are_hidden_in_reported_errors) {
  const testing::Variables secret = {{"MY_TOKEN", "tops3cret"}};
  const testing::Outcome outcome = reeve(
      {"run", "--", "sh", "-c",
       R"(echo "{\"event\":\"error\",\"message\":\"denied for $MY_TOKEN\"}"; echo "error: $MY_TOKEN" >&2; exit 1)"},
      secret);
  EXPECT_EQ(outcome.code, 1);
  const testing::Outcome shown = reeve({"show", "TR-1", "--json"});
  EXPECT_EQ(shown.out.find("tops3cret"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("denied for ***"), std::string::npos) << shown.out;
  EXPECT_EQ(reeve({"runs"}).out.find("tops3cret"), std::string::npos);
}

TEST_F(Trouble, multiline_secrets_stay_hidden_after_the_end_and_a_restart) {
  const testing::Variables secret = {{"A_KEY", "first-line-of-it\nsecond-line-of-it"}, {"B_TOKEN", "another-one"}};
  const std::string file = (scratch().path() / "go").string();
  const testing::Outcome started = reeve(
      {"run", "--detach", "--", "sh", "-c",
       fmt::format(R"(echo "$A_KEY" | tail -n 1; {} wait-file {}; echo "$B_TOKEN")", testing::zoo_binary(), file)},
      secret);
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "waiting");
  kill_daemon();
  ASSERT_EQ(reeve({"runs"}).code, 0);
  std::ofstream(file) << "x";
  EXPECT_EQ(finish("TR-1").at("status"), "completed");
  const std::string text = logs("TR-1");
  EXPECT_EQ(text.find("second-line-of-it"), std::string::npos) << text;
  EXPECT_EQ(text.find("another-one"), std::string::npos) << text;
  EXPECT_EQ(testing::count_of(text, "***"), 2) << text;
}

// DESIGN "Spawn protocol": no environment stays on disk because a daemon died at a bad moment.
TEST_F(Trouble, leftover_launch_file_is_removed) {
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "run.after_tx_exit"}});
  daemon->wait_for_error("listening");
  EXPECT_EQ(reeve({"run", "--", "true"}).code, 0);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return !std::filesystem::exists(state() / "runs/TR-1/launch"); }));
}

TEST_F(Trouble, permissions_of_a_foreign_folder_are_not_changed) {
  const std::filesystem::path folder = scratch().path() / "theirs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  const testing::Outcome outcome = reeve({"serve", "--state", folder.string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("daemon.state_folder"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::all);
}

TEST_F(Trouble, endpoints_of_killed_keepers_are_removed) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  const pid_t pid = daemon_pid();
  for (const testing::FoundProcess& process : processes()) ::kill(process.pid, SIGKILL);
  ASSERT_TRUE(testing::eventually([&] { return !testing::is_alive(pid) && processes().empty(); }));
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const auto is_swept = [&] {
    int locks = 0;
    for (const auto& entry : std::filesystem::directory_iterator(state() / "keepers")) {
      if (entry.path().extension() == ".lock") ++locks;
    }
    return locks <= 4;
  };
  EXPECT_TRUE(testing::eventually(is_swept));
}

}  // namespace
}  // namespace reeve
