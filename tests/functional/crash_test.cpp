#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// The daemon, the keeper or both die at any moment. An independent ledger of effects (a file that the tools append to)
// records what really happened.
namespace reeve {
namespace {

using testing::Members;
using testing::Words;

// Runs on SQLite, and again on PostgreSQL (tests/CMakeLists.txt).
class Crash : public testing::DaemonTest {
 protected:
  Crash() { configure(store_line()); }
  // A new database on the server that ctest has started.
  std::string store_line() {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    if (database_.empty()) {
      database_ = fmt::format("crash_{}", ::getpid());
      const testing::Outcome made = testing::run_program(
          {.argv = {"createdb", "-h", server, "-U", "reeve", database_}, .environment = {{"PATH", "/usr/bin:/bin"}}});
      EXPECT_EQ(made.code, 0) << made.err;
    }
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database_, server);
  }
  std::filesystem::path ledger() const { return scratch().path() / "effects"; }
  std::vector<std::string> effects() const {
    std::ifstream file(ledger());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  void kill_daemon() const {
    const pid_t pid = daemon_pid();
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
  }
  // Including the guard, which would restart it.
  void kill_daemon_for_good() const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find(" guard ") != std::string::npos) ::kill(process.pid, SIGKILL);
    }
    const pid_t pid = daemon_pid();
    kill_daemon();
    ASSERT_TRUE(testing::eventually([&] { return !testing::is_alive(pid); }));
  }
  // The keepers with an endpoint: those of the pool and those of runs.
  void kill_keepers() const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find("reeve-keeper hold") != std::string::npos) ::kill(process.pid, SIGKILL);
    }
  }
  // A daemon that dies at this point; it serves every request until then.
  std::unique_ptr<testing::Session> serve_until(const std::string& point) const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    daemon->wait_for_error("listening");
    return daemon;
  }
  static std::vector<std::string> numbered(int count) {
    std::vector<std::string> lines;
    for (int i = 1; i <= count; ++i) lines.push_back(fmt::format("line {:06}", i));
    return lines;
  }
  // The lines of combined.log, in order.
  std::map<std::string, std::vector<std::string>> logged_lines() const {
    std::map<std::string, std::vector<std::string>> lines;
    for (const Members& line : combined_log()) {
      if (line.at("event") == "tool_output") lines[line.at("tool_run_id")].push_back(line.at("text"));
    }
    return lines;
  }
  // The id of the only run; ids may have gaps.
  std::string only_run() const {
    const std::vector<std::string> lines = testing::lines_of(reeve({"runs"}).out);
    EXPECT_EQ(lines.size(), 1U) << "it was started twice, or not at all";
    return lines.empty() ? "" : lines[0].substr(0, lines[0].find('\t'));
  }

  std::string database_;
  // The effect once, then lines, then this exit code.
  Words working_tool(int lines, int code) const {
    return {"sh", "-c",
            fmt::format("{0} effect {1} ran >/dev/null; {0} lines {2}; exit {3}", testing::zoo_binary(),
                        ledger().string(), lines, code)};
  }
};

// RUN-12, RUN-13.
TEST_F(Crash, sixteen_runs_survive_a_daemon_killed_a_hundred_times) {
  constexpr int kills = 100;
  constexpr int lines = 2'000;
  std::vector<std::string> ids;
  for (int i = 0; i < 16; ++i) {
    Words words = {"run", "--detach", "--timeout", "off"};
    if (i % 2 == 1) words.emplace_back("--pty");
    words.insert(words.end(),
                 {"--", "sh", "-c", fmt::format("{} lines {} --pause 10; exit {}", testing::zoo_binary(), lines, i)});
    const testing::Outcome started = reeve(words);
    ASSERT_EQ(started.code, 0) << started.err;
    ids.push_back(started.out.substr(0, started.out.find('\n')));
  }
  std::mt19937 random(20'261'115);
  for (int i = 0; i < kills; ++i) {
    ::usleep(static_cast<useconds_t>(random() % 150'000));
    kill_daemon();
    ASSERT_EQ(reeve({"runs"}).code, 0) << i;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Members run = finish(ids[i]);
    EXPECT_EQ(run.at("status"), i == 0 ? "completed" : "failed") << ids[i];
    EXPECT_EQ(run.at("exit_code"), std::to_string(i)) << ids[i];
    EXPECT_EQ(run.at("attempt"), "1") << ids[i];
    EXPECT_EQ(testing::lines_of(logs(ids[i])), numbered(lines)) << ids[i];
  }
  const auto logged = logged_lines();
  for (const std::string& id : ids) EXPECT_EQ(logged.at(id), numbered(lines)) << id;
}

class DaemonCrashPoint : public Crash, public ::testing::WithParamInterface<const char*> {};

// DESIGN §4: followers resume where they were, and the tool ran once.
TEST_P(DaemonCrashPoint, daemon_crash_loses_and_repeats_nothing) {
  auto daemon = serve_until(GetParam());
  Words words = {"run", "--"};
  const Words tool = working_tool(300, 7);
  words.insert(words.end(), tool.begin(), tool.end());
  const testing::Outcome outcome = reeve(words);
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL) << "it never came to " << GetParam();
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  EXPECT_EQ(testing::lines_of(outcome.out), numbered(300));
  EXPECT_EQ(effects().size(), 1U);
  const std::string id = only_run();
  const Members run = show(id);
  EXPECT_EQ(run.at("status"), "failed");
  EXPECT_EQ(run.at("exit_code"), "7");
  EXPECT_EQ(run.at("attempt"), "1");
  EXPECT_EQ(testing::lines_of(logs(id)), numbered(300));
  EXPECT_EQ(logged_lines()[id], numbered(300));
  // Events are numbered without gaps, and the log has each of them once.
  int seq = 0;
  for (const Members& line : combined_log()) {
    if (line.at("event") != "tool_output") EXPECT_EQ(line.at("seq"), std::to_string(++seq));
  }
  // A draft of a run that never came to exist contains an environment: the next start removes it.
  for (const auto& entry : std::filesystem::directory_iterator(state() / "runs")) {
    EXPECT_EQ(entry.path().filename(), id);
  }
}

INSTANTIATE_TEST_SUITE_P(Points, DaemonCrashPoint,
                         ::testing::Values("run.after_tx_spawned", "run.after_assign", "output.after_log_before_tx",
                                           "run.before_tx_exit", "run.after_tx_exit", "group.before_commit",
                                           "group.after_commit_before_publish"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// The same while it adopts the runs of its predecessor.
TEST_F(Crash, runs_survive_a_daemon_that_dies_during_recovery) {
  const std::string file = (scratch().path() / "go").string();
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(detach({}, {"wait-file", file}));
  kill_daemon_for_good();
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "recovery.after_each_run"}});
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  std::ofstream(file) << "x";
  for (const std::string& id : ids) EXPECT_EQ(finish(id).at("status"), "completed") << id;
}

// Before the marker is written nothing ran, so the same attempt starts it again.
TEST_F(Crash, keeper_death_before_the_marker_starts_the_tool_again) {
  auto daemon = serve_until("keeper.before_marker");
  Words words = {"run", "--"};
  const Words tool = working_tool(10, 0);
  words.insert(words.end(), tool.begin(), tool.end());
  const testing::Outcome outcome = reeve(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(effects().size(), 1U);
  EXPECT_EQ(show("TR-1").at("attempt"), "1");
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

class KeeperCrashPoint : public Crash, public ::testing::WithParamInterface<const char*> {};

// RUN-13: once the marker exists the tool may have run, so a person is asked.
TEST_P(KeeperCrashPoint, keeper_death_after_the_marker_asks_a_person) {
  auto daemon = serve_until(GetParam());
  Words words = {"run", "--no-wait", "--"};
  const Words tool = working_tool(10, 0);
  words.insert(words.end(), tool.begin(), tool.end());
  const testing::Outcome outcome = reeve(words);
  EXPECT_EQ(outcome.code, 90) << outcome.err;
  const Members run = show("TR-1");
  EXPECT_EQ(run.at("status"), "waiting_approval");
  EXPECT_EQ(run.at("reason"), "interrupted after it began");
  EXPECT_LE(effects().size(), 1U);
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Points, KeeperCrashPoint,
                         ::testing::Values("keeper.after_marker", "keeper.mid_frame", "keeper.before_rename"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST_F(Crash, keeper_death_after_the_exit_record_loses_nothing) {
  auto daemon = serve_until("keeper.after_rename");
  Words words = {"run", "--"};
  const Words tool = working_tool(10, 5);
  words.insert(words.end(), tool.begin(), tool.end());
  const testing::Outcome outcome = reeve(words);
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  EXPECT_EQ(effects().size(), 1U);
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

// RUN-13, RUN-4: all remaining processes are killed, wherever they have gone.
TEST_F(Crash, killed_keeper_leaves_no_descendants) {
  const std::string file = (scratch().path() / "pids").string();
  const std::string id = detach({}, {"spawn-children", "5", file});
  ASSERT_TRUE(testing::eventually([&] { return std::filesystem::exists(file); }));
  kill_keepers();
  EXPECT_EQ(wait_for_status(id, "waiting_approval").at("reason"), "interrupted after it began");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  std::ifstream pids(file);
  int count = 0;
  for (pid_t pid = 0; pids >> pid; ++count) EXPECT_FALSE(testing::is_alive(pid)) << pid;
  EXPECT_EQ(count, 5);
  EXPECT_EQ(reeve({"cancel", id}).code, 0);
}

TEST_F(Crash, killed_keeper_and_daemon_leave_an_interrupted_run) {
  const std::string id = detach({}, {"spawn-children", "3", (scratch().path() / "pids").string()});
  ASSERT_TRUE(testing::eventually([&] { return std::filesystem::exists(scratch().path() / "pids"); }));
  kill_daemon();
  kill_keepers();
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_EQ(wait_for_status(id, "waiting_approval").at("reason"), "interrupted after it began");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  EXPECT_EQ(reeve({"cancel", id}).code, 0);
}

TEST_F(Crash, interrupted_run_follows_its_profile) {
  configure(
      fmt::format("tools:\n"
                  "  failing: {{command: [{0}, silent, '1000'], on_interrupted: fail}}\n"
                  "  again: {{command: [{0}, effect, {1}, ran], on_interrupted: rerun}}\n",
                  testing::zoo_binary(), ledger().string()));
  const testing::Outcome failing = reeve({"run", "--detach", "--tool", "failing"});
  ASSERT_EQ(failing.code, 0) << failing.err;
  ASSERT_TRUE(testing::eventually([&] { return !tools().empty(); }));
  kill_keepers();
  EXPECT_EQ(finish("TR-1").at("reason"), "interrupted after it began");
  EXPECT_EQ(show("TR-1").at("status"), "failed");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  // The first attempt dies with its keeper before its end is recorded; the second does not.
  auto daemon = serve_until("keeper.before_rename");
  const testing::Outcome again = reeve({"run", "--tool", "again"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(show("TR-2").at("attempt"), "2");
  const std::vector<std::string> told = effects();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0].find("TR-2 1 "), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("TR-2 2 "), std::string::npos) << told[1];
  daemon->signal(SIGTERM);
  EXPECT_EQ(daemon->wait(), 0);
}

// RUN-4, RUN-15: the reason for the end survives the daemon that received it.
TEST_F(Crash, cancel_reason_survives_a_daemon_crash) {
  configure(store_line() +
            fmt::format("tools:\n  stubborn: {{command: [{}, hang], kill_grace: 1s}}\n", testing::zoo_binary()));
  ASSERT_EQ(reeve({"run", "--detach", "--tool", "stubborn"}).code, 0);
  const std::string id = only_run();
  wait_for_output(id, "ready");
  ASSERT_EQ(reeve({"cancel", id, "--reason", "enough"}).code, 0);
  kill_daemon();
  const Members run = finish(id);
  EXPECT_EQ(run.at("status"), "cancelled");
  EXPECT_NE(run.at("reason").find("enough"), std::string::npos) << run.at("reason");
  EXPECT_TRUE(tools().empty());
}

// The keeper's backstop: the hard timeout holds without a daemon.
TEST_F(Crash, timeout_is_enforced_without_a_daemon) {
  ASSERT_EQ(reeve({"run", "--detach", "--timeout", "2", "--", testing::zoo_binary(), "silent", "1000"}).code, 0);
  const std::string id = only_run();
  ASSERT_TRUE(testing::eventually([&] { return !tools().empty(); }));
  kill_daemon_for_good();
  EXPECT_TRUE(testing::eventually([&] { return processes().empty(); })) << "nobody ended it";
  const Members run = finish(id);
  EXPECT_EQ(run.at("status"), "failed_timeout");
  EXPECT_EQ(run.at("reason"), "timeout");
}

// RUN-13: the recorded end time does not depend on when a daemon reads it.
TEST_F(Crash, a_run_that_ended_without_a_daemon_has_the_time_of_its_end) {
  const std::string file = (scratch().path() / "go").string();
  const std::string id = detach({}, {"wait-file", file});
  wait_for_output(id, "waiting");
  kill_daemon_for_good();
  std::ofstream(file) << "x";
  const std::string record = (state() / "runs" / id / "1/exit").string();
  struct stat status{};
  ASSERT_TRUE(testing::eventually([&] { return ::stat(record.c_str(), &status) == 0; }));
  // So that the two times cannot be confused.
  ASSERT_TRUE(testing::eventually([&] { return ::time(nullptr) >= status.st_mtim.tv_sec + 3; }));
  const auto text_of = [](std::time_t time) {
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
  };
  const Members run = finish(id);
  EXPECT_EQ(run.at("status"), "completed");
  EXPECT_LT(run.at("completed_at"), text_of(status.st_mtim.tv_sec + 2));
  EXPECT_GE(run.at("completed_at"), run.at("started_at"));
  EXPECT_GE(run.at("completed_at"), text_of(status.st_mtim.tv_sec - 1));
}

// DESIGN "Spawn protocol": the environment stays on disk only while it may be needed, readable only by the owner.
TEST_F(Crash, launch_file_is_private_and_removed_at_the_end) {
  const std::string file = (scratch().path() / "go").string();
  const std::string id = detach({}, {"wait-file", file});
  wait_for_output(id, "waiting");
  const std::filesystem::path launch = state() / "runs" / id / "launch";
  const auto mode = std::filesystem::status(launch).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(std::filesystem::status(state()).permissions(), std::filesystem::perms::owner_all);
  // Also when the run ends without a daemon.
  kill_daemon_for_good();
  std::ofstream(file) << "x";
  EXPECT_EQ(finish(id).at("status"), "completed");
  EXPECT_TRUE(testing::eventually([&] { return !std::filesystem::exists(launch); }));
}

}  // namespace
}  // namespace reeve
