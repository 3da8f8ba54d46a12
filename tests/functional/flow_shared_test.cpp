#include <algorithm>
#include <csignal>
#include <fstream>
#include <sysexits.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/flow_proof.h"

// GRF-13: two daemons, each with its own state folder, share executions on one PostgreSQL. The test has its own server,
// which it restarts.
namespace reeve {
namespace {

using testing::eventually;
using testing::Outcome;

class SharedFlow : public testing::FlowProofTest {
 protected:
  void SetUp() override {
    server_ = fmt::format("/tmp/reeve-flow-{}", ::getpid());
    ASSERT_NO_FATAL_FAILURE(serve_database({"start", server_.string(), "fsync=off"}));
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server_, "-U", "reeve", "proof"}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    ASSERT_EQ(made.code, 0) << made.err;
    write_project(
        fmt::format("store: 'postgresql:///proof?host={}&user=reeve'\n"
                    "supervision: {{poll_interval: 100ms, lease: {}ms}}\n",
                    server_.string(), lease.count()));
  }
  void TearDown() override {
    FlowProofTest::TearDown();
    serve_database({"stop", server_.string()});
  }

  void serve_database(const testing::Words& words) const {
    testing::Launch launch{.argv = {testing::source_folder() / "tests/support/store/postgresql"},
                           .environment = {{"PATH", "/usr/bin:/bin:/usr/sbin:/sbin"}}};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program(launch);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  // The daemon of A pauses at this point; B is running.
  std::unique_ptr<testing::Session> stand_still_at(const std::string& point) const {
    EXPECT_EQ(reeve_at(site("b"), {"flow", "list"}).code, 0);
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "stop:" + point}});
    daemon->wait_for_error("listening");
    return daemon;
  }
  static bool wait_until_still(const testing::Session& daemon) {
    return eventually([&] {
      std::ifstream stat(fmt::format("/proc/{}/stat", daemon.pid()));
      std::string text;
      std::getline(stat, text);
      return text.contains(") T ");
    });
  }

  static constexpr std::chrono::milliseconds lease{2'000};
  std::filesystem::path server_;
};

// `./dev soak` runs it longer.
TEST_F(SharedFlow, executions_of_every_shape_survive_random_daemon_and_database_kills) {
  prove({.sites = {site("a"), site("b")},
         .size = testing::proof_size({.executions = 28, .kills = 30, .restarts = 4, .seed = 20'261'116}),
         .restart_database = [&] { serve_database({"restart", server_.string()}); },
         .pause = lease + lease / 2});
}

// The daemon claimed a step and was paused: another daemon runs it, and the late start is refused.
TEST_F(SharedFlow, a_daemon_that_stood_still_past_its_lease_starts_nothing) {
  auto still = stand_still_at("node.before_start");
  const auto client = start({"flow", "run", "chain", "--detach"});
  ASSERT_TRUE(wait_until_still(*still));
  // After its lease has expired.
  ASSERT_TRUE(eventually([&] { return !ledger().empty(); }));
  wait_until_over(site("b"));
  still->signal(SIGCONT);
  // Its claims belong to another daemon by now, so it exits and restarts.
  EXPECT_EQ(still->wait(), EX_SOFTWARE) << still->err();
  client->wait();
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  expect_proved(site("a"));
  EXPECT_EQ(ledger().size(), 2U * 4) << "each step once";
}

// Its step has ended, and the execution was cancelled elsewhere before it could report that.
TEST_F(SharedFlow, late_result_is_refused) {
  auto still = stand_still_at("node.before_conclude");
  const std::string id = start_flow(site("a"), "chain", "late");
  ASSERT_TRUE(wait_until_still(*still));
  const Outcome cancelled = reeve_at(site("b"), {"flow", "cancel", id});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  ::usleep(static_cast<useconds_t>((lease + lease / 2).count() * 1'000));
  still->signal(SIGCONT);
  EXPECT_EQ(still->wait(), EX_SOFTWARE) << still->err();
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  const auto executions = read_all(site("a"));
  testing::expect_agreement(executions, ledger());
  EXPECT_EQ(executions.at(0).status, "cancelled");
  EXPECT_EQ(executions.at(0).nodes.at(0).status, "cancelled");
  EXPECT_EQ(ledger().size(), 2U) << "something began after it was cancelled";
}

// RUN-13: the keeper continues the step. Whichever daemon takes it over finds it done, and does not repeat it.
TEST_F(SharedFlow, step_that_ended_while_its_daemon_was_paused_runs_once) {
  auto still = stand_still_at("node.before_conclude");
  start_flow(site("a"), "chain", "late");
  ASSERT_TRUE(wait_until_still(*still));
  ::usleep(static_cast<useconds_t>((lease + lease / 2).count() * 1'000));
  still->signal(SIGCONT);
  still->wait();
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  wait_until_over(site("a"));
  expect_proved(site("a"));
  EXPECT_EQ(ledger().size(), 2U * 4) << "each step once";
}

// GRF-13, RUN-13: its daemon died before the step could begin, and meanwhile the execution was cancelled.
TEST_F(SharedFlow, a_step_that_was_cancelled_while_its_daemon_was_away_never_begins) {
  ASSERT_EQ(reeve_at(site("b"), {"flow", "list"}).code, 0);
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "run.after_tx_spawned"}});
  daemon->wait_for_error("listening");
  const auto client = start({"flow", "run", "any", "--detach"});
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  // The client would restart the daemon.
  client->signal(SIGKILL);
  client->wait();
  const auto left = list_unfinished(site("b"));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(reeve_at(site("b"), {"flow", "cancel", left[0].substr(0, left[0].find(' '))}).code, 0);
  ASSERT_EQ(reeve({"flow", "list"}).code, 0);
  ASSERT_TRUE(eventually([&] {
    const auto runs = read_all(site("a")).at(0).runs;
    return std::ranges::none_of(runs,
                                [](const auto& run) { return run.status == "running" || run.status == "queued"; });
  }));
  EXPECT_EQ(ledger().size(), 0U);
  testing::expect_agreement(read_all(site("a")), ledger());
}

}  // namespace
}  // namespace reeve
