#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// How a run can end, and the record, exit code and log of each case.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Words;

class RunExit : public testing::DaemonTest {
 protected:
  // `zoo`: the fake agents with a short grace time, plus these profile keys.
  void configure_zoo(const std::string& more) const {
    configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "], " + more + "}\n");
  }
};

struct Ending {
  Words words;
  int code;
  std::string status;
  std::string reason;
  std::string exit_code;
};

// RUN-6, §7
TEST_F(RunExit, every_exit_maps_to_a_status_and_code) {
  const std::vector<Ending> endings = {
      {{"lines", "2"}, 0, "completed", "null", "0"},
      {{"exit", "1"}, 1, "failed", "exit_code != 0 (1)", "1"},
      {{"exit", "7"}, 7, "failed", "exit_code != 0 (7)", "7"},
      {{"exit", "124"}, 124, "failed", "exit_code != 0 (124)", "124"},
      {{"exit", "255"}, 255, "failed", "exit_code != 0 (255)", "255"},
      {{"signal", "2"}, 130, "failed", "signal 2", "null"},
      {{"signal", "9"}, 137, "failed", "signal 9", "null"},
      {{"signal", "11"}, 139, "failed", "signal 11", "null"},
      {{"signal", "15"}, 143, "failed", "signal 15", "null"},
      {{"fatal"}, 1, "failed", "failure marker", "0"},
  };
  for (const Ending& ending : endings) {
    const Outcome outcome = run({}, ending.words);
    EXPECT_EQ(outcome.code, ending.code) << ending.reason << outcome.err;
    Members record = show("@last");
    EXPECT_EQ(record["status"], ending.status) << ending.reason;
    EXPECT_EQ(record["reason"], ending.reason);
    EXPECT_EQ(record["exit_code"], ending.exit_code) << ending.reason;
    EXPECT_EQ(record["outcome"], "null") << ending.reason;
    EXPECT_EQ(record["attempt"], "1");
    EXPECT_NE(record["completed_at"], "null");
  }
  EXPECT_THAT(statuses_of("TR-1"), ElementsAre("queued", "running", "completed"));
  EXPECT_THAT(statuses_of("TR-2"), ElementsAre("queued", "running", "failed"));
}

// RUN-6: 90 asks the generic question, and with --no-wait the client reports that.
TEST_F(RunExit, exit_90_makes_the_run_wait_for_an_approval) {
  const Outcome outcome = run({"--no-wait"}, {"exit", "90"});
  EXPECT_EQ(outcome.code, 90);
  EXPECT_THAT(outcome.err, HasSubstr("TR-1 is waiting for an approval"));
  Members record = show("TR-1");
  EXPECT_EQ(record["status"], "waiting_approval");
  EXPECT_EQ(record["outcome"], "asked");
  EXPECT_EQ(record["exit_code"], "90");
  EXPECT_THAT(statuses_of("TR-1"), ElementsAre("queued", "running", "waiting_approval"));
  bool has_asked = false;
  for (Members& line : combined_log())
    has_asked = has_asked || (line["event"] == "approval_needed" && line["tool_run_id"] == "TR-1");
  EXPECT_TRUE(has_asked);
  // RUN-15: there is no process to end, but the run can be cancelled.
  const Outcome cancelled = reeve({"cancel", "TR-1"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  // It says what it ended.
  EXPECT_THAT(cancelled.out, AllOf(HasSubstr("cancelled: "), HasSubstr(" exit 90\n"), HasSubstr("AP-1\tclosed\t\t")));
  EXPECT_EQ(show("TR-1")["status"], "cancelled");
}

// RUN-6
TEST_F(RunExit, failure_marker_fails_the_run) {
  configure_zoo("failure_markers: [\"^line 00000[3]\"]");
  EXPECT_EQ(run({"--tool", "zoo"}, {"lines", "2"}).code, 0);
  EXPECT_EQ(run({"--tool", "zoo"}, {"lines", "5"}).code, 1);
  Members record = show("@last");
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["reason"], "failure marker");
  EXPECT_EQ(record["exit_code"], "0");
}

// RUN-7
TEST_F(RunExit, the_last_error_is_kept) {
  run({}, {"fatal"});
  EXPECT_EQ(show("@last")["last_error"], "cannot go on");
  reeve({"run", "--", "sh", "-c", "echo error: first >&2; echo nothing special >&2; exit 1"});
  EXPECT_EQ(show("@last")["last_error"], "error: first");
  reeve({"run", "--", "sh", "-c", "echo nothing special >&2; exit 1"});
  EXPECT_EQ(show("@last")["last_error"], "nothing special");
  reeve({"run", "--", "sh", "-c", "echo nothing special >&2"});
  EXPECT_EQ(show("@last")["last_error"], "null");
}

// RUN-4: it ignores SIGTERM.
TEST_F(RunExit, tool_that_ignores_sigterm_is_killed) {
  configure_zoo("kill_grace: 200ms, timeout: 300ms");
  const Outcome outcome = run({"--tool", "zoo"}, {"hang"});
  EXPECT_EQ(outcome.code, 124) << outcome.err;
  EXPECT_EQ(outcome.out, "ready\n");
  EXPECT_THAT(outcome.err, HasSubstr("TR-1 exceeded its time limit"));
  Members record = show("TR-1");
  EXPECT_EQ(record["status"], "failed_timeout");
  EXPECT_EQ(record["reason"], "timeout");
  EXPECT_EQ(record["exit_code"], "null");
  // By the wall clock, which differs from the clock of the limit.
  EXPECT_GE(std::stoi(record["duration_ms"]), 450);
  EXPECT_TRUE(tools().empty());
}

// RUN-4: a tool that obeys does not wait for the grace time, and the option overrides the profile.
TEST_F(RunExit, tool_that_obeys_sigterm_ends_at_once) {
  configure_zoo("kill_grace: 1h, timeout: 1h");
  EXPECT_EQ(run({"--tool", "zoo", "--timeout", "200ms"}, {"silent", "1000"}).code, 124);
  EXPECT_EQ(show("TR-1")["status"], "failed_timeout");
}

// RUN-15
TEST_F(RunExit, cancelled_run_records_who_and_why) {
  const auto client = start(run_words({}, {"lines", "1000", "--pause", "100"}));
  ASSERT_TRUE(client->wait_for("line 000002\n"));
  EXPECT_EQ(reeve({"cancel", "TR-1", "--reason", "wrong branch"}).code, 0);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_THAT(client->err(), HasSubstr("wrong branch"));
  Members record = show("TR-1");
  EXPECT_EQ(record["status"], "cancelled");
  EXPECT_THAT(record["reason"], ::testing::MatchesRegex("cancelled by [a-z0-9_-]+: wrong branch"));
  EXPECT_EQ(reeve({"wait", "TR-1"}).code, 130);
}

// RUN-15, UX: Ctrl-C in the client that started the run cancels it.
TEST_F(RunExit, ctrl_c_cancels_the_run) {
  const auto client = start(run_words({}, {"lines", "1000", "--pause", "100"}));
  ASSERT_TRUE(client->wait_for("line 000001\n"));
  client->signal(SIGINT);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_EQ(show("TR-1")["status"], "cancelled");
  EXPECT_THAT(show("TR-1")["reason"], HasSubstr("Ctrl-C"));
}

// RUN-15
TEST_F(RunExit, second_ctrl_c_kills_at_once) {
  configure_zoo("kill_grace: 1h");
  const auto client = start(run_words({"--tool", "zoo"}, {"hang"}));
  ASSERT_TRUE(client->wait_for("ready\n"));
  client->signal(SIGINT);
  ASSERT_TRUE(client->wait_for_error("Ctrl-C again kills it"));
  EXPECT_FALSE(client->is_over());
  client->signal(SIGINT);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_EQ(show("TR-1")["status"], "cancelled");
  EXPECT_TRUE(tools().empty());
}

// RUN-15: closing the terminal does not cancel the run.
TEST_F(RunExit, hangup_ends_the_client_and_keeps_the_run) {
  const auto client = start(run_words({}, {"wait-file", (project() / "go").string()}));
  ASSERT_TRUE(client->wait_for("waiting\n"));
  client->signal(SIGHUP);
  EXPECT_EQ(client->wait(), 128 + SIGHUP);
  EXPECT_EQ(show("TR-1")["status"], "running");
  scratch().write("project/go", "");
  EXPECT_EQ(finish("TR-1")["status"], "completed");
}

// RUN-17
TEST_F(RunExit, result_counts_when_the_tool_does_not_exit) {
  configure_zoo("result_grace: 300ms, kill_grace: 200ms");
  EXPECT_EQ(run({"--tool", "zoo"}, {"result-no-exit"}).code, 0);
  Members record = show("TR-1");
  EXPECT_EQ(record["status"], "completed");
  EXPECT_EQ(record["outcome"], "did_not_exit");
  EXPECT_TRUE(tools().empty());
}

// §7: `wait` exits as `run` would have.
TEST_F(RunExit, wait_gives_the_code_of_the_run) {
  const std::string good = detach({}, {"exit", "0"});
  const std::string bad = detach({}, {"exit", "7"});
  EXPECT_EQ(reeve({"wait", good}).code, 0);
  EXPECT_EQ(reeve({"wait", bad}).code, 7);
  EXPECT_NE(reeve({"wait", good, bad}).code, 0);
}

}  // namespace
}  // namespace reeve
