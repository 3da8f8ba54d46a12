#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/flow_proof.h"

// GRF-13, RUN-13: workflows whose daemon is killed at any moment. Runs on SQLite, and again on PostgreSQL
// (tests/CMakeLists.txt).
namespace reeve {
namespace {

using testing::Outcome;

class FlowCrash : public testing::FlowProofTest {
 protected:
  FlowCrash() { write_project(store_line() + "supervision: {poll_interval: 200ms}\n"); }

  // A new database on the server that ctest has started.
  static std::string store_line() {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) return "store: sqlite\n";
    static int count = 0;
    const std::string database = fmt::format("flow_crash_{}_{}", ::getpid(), ++count);
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(made.code, 0) << made.err;
    return fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\n", database, server);
  }
  // A daemon that dies at this point; it serves every request until then.
  std::unique_ptr<testing::Session> serve_until(const std::string& point) const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    daemon->wait_for_error("listening");
    return daemon;
  }
  // Including the guard, which would restart it.
  void kill_for_good() const {
    const pid_t pid = daemon_pid(site("a"));
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.contains(" guard ")) ::kill(process.pid, SIGKILL);
    }
    ::kill(pid, SIGKILL);
    ASSERT_TRUE(testing::eventually([&] { return !testing::is_alive(pid); }));
  }
};

// `./dev soak` runs it longer.
TEST_F(FlowCrash, executions_of_every_shape_survive_random_daemon_kills) {
  prove({.sites = {site("a")}, .size = testing::proof_size({.executions = 28, .kills = 40, .seed = 20'261'115})});
}

class FlowCrashPoint : public FlowCrash, public ::testing::WithParamInterface<const char*> {};

// DESIGN §4: watchers resume where they were, and each step ran once.
TEST_P(FlowCrashPoint, daemon_crash_loses_and_repeats_no_step) {
  for (const char* shape : {"chain", "gated"}) {
    SCOPED_TRACE(shape);
    auto daemon = serve_until(GetParam());
    const Outcome outcome = reeve({"flow", "run", shape});
    EXPECT_EQ(daemon->wait(), 128 + SIGKILL) << "it never came to " << GetParam();
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    ASSERT_EQ(reeve({"stop"}).code, 0);
  }
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  expect_proved(site("a"));
  const auto executions = read_all(site("a"));
  EXPECT_EQ(executions.size(), 2U) << "one was started twice, or not at all";
  for (const auto& execution : executions) {
    for (const auto& run : execution.runs) EXPECT_EQ(run.attempt, 1) << run.id;
  }
  // Four steps and a gate of one shape; of the other two rounds with two gates, and one gate.
  EXPECT_EQ(ledger().size(), 2U * (4 + 2 * 3 + 1));
}

INSTANTIATE_TEST_SUITE_P(Points, FlowCrashPoint,
                         ::testing::Values("execution.after_start", "node.before_start", "node.before_conclude",
                                           "node.after_conclude", "run.after_tx_spawned", "run.after_assign",
                                           "run.before_tx_exit", "run.after_tx_exit", "output.after_log_before_tx",
                                           "group.before_commit", "group.after_commit_before_publish"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// SPEC §7: the settings are on disk before the execution exists. A daemon that dies between the commit and naming them
// loses nothing, and one that dies before the commit leaves nothing.
TEST_F(FlowCrash, start_settings_survive_a_daemon_crash_at_the_start) {
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(state() / "executions")) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  };
  auto early = serve_until("group.before_commit");
  EXPECT_EQ(reeve({"flow", "run", "--detach", "asked"}).code, 0);
  EXPECT_EQ(early->wait(), 128 + SIGKILL);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto late = serve_until("group.after_commit_before_publish");
  EXPECT_EQ(reeve({"flow", "run", "--detach", "asked"}).code, 0);
  EXPECT_EQ(late->wait(), 128 + SIGKILL);
  ASSERT_TRUE(testing::eventually([&] { return reeve({"approvals"}).out.contains("AP-"); }));
  for (const std::string& name : names()) {
    EXPECT_TRUE(name.starts_with("EX-")) << name;
    EXPECT_TRUE(std::filesystem::exists(state() / "executions" / name / "start")) << name;
  }
  EXPECT_FALSE(names().empty());
}

// The same while it adopts the runs of its predecessor.
TEST_F(FlowCrash, steps_survive_a_daemon_that_dies_during_recovery) {
  const Site at = site("a");
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  for (int i = 0; i < 3; ++i) start_flow(at, "any", fmt::format("recovered-{}", i));
  ASSERT_TRUE(testing::eventually([&] { return is_step_alive(); }));
  kill_for_good();
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "recovery.after_each_run"}});
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  wait_until_over(at);
  expect_proved(at);
}

// RUN-13: a step that may have begun asks a person, and its node waits; after an approval it runs in another attempt.
TEST_F(FlowCrash, step_whose_keeper_dies_asks_and_continues_with_the_answer) {
  const Site at = site("a");
  auto daemon = serve_until("keeper.after_marker");
  const std::string id = start_flow(at, "stubborn", "asked");
  ASSERT_TRUE(testing::eventually([&] { return reeve({"approvals"}).out.contains("was interrupted"); }));
  daemon->signal(SIGKILL);
  daemon->wait();
  const Outcome waiting = reeve({"approvals"});
  EXPECT_TRUE(waiting.out.contains("was interrupted")) << waiting.out;
  ASSERT_EQ(reeve({"approve", "--yes", waiting.out.substr(0, waiting.out.find('\t'))}).code, 0);
  wait_until_over(at);
  expect_proved(at);
  const auto executions = read_all(at);
  EXPECT_EQ(executions.at(0).runs.at(0).attempt, 2);
}

}  // namespace
}  // namespace reeve
