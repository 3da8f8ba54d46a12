#include <algorithm>
#include <csignal>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Runs that people queue (RUN-14).
namespace reeve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Words;

class RunQueue : public testing::DaemonTest {
 protected:
  void limit(int runs, const std::string& more = {}) const {
    configure(fmt::format("supervision: {{max_parallel_runs: {}{}}}\n", runs, more));
  }
  std::filesystem::path order_file() const { return scratch().path() / "order"; }
  // Notes its start and runs until the file `go` appears.
  Words noting() const {
    return {"sh", "-c",
            fmt::format("echo $REEVE_RUN_ID >> {}; while [ ! -e {}/go ]; do sleep 0.02; done", order_file().string(),
                        project().string())};
  }
  Outcome enqueue(const Words& options = {}, const testing::Variables& more = {}) const {
    Words words = {"run", "--detach", "--queue"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    const Words command = noting();
    words.insert(words.end(), command.begin(), command.end());
    return reeve(words, more);
  }
  void go() const { scratch().write("project/go", ""); }
  std::vector<std::string> order() const {
    std::ifstream file(order_file());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::size_t count(const std::string& status) const {
    return testing::lines_of(reeve({"runs", "--status", status, "--limit", "100"}).out).size();
  }
  // The largest number of runs that were alive at once, by the log.
  int most_alive() const {
    int alive = 0;
    int most = 0;
    for (Members& line : combined_log()) {
      if (line["event"] != "tool_status_change") continue;
      if (line["status"] == "running") most = std::max(most, ++alive);
      if (line["status"] == "completed") --alive;
    }
    return most;
  }
  void kill_daemon() const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find(" serve") != std::string::npos) ::kill(process.pid, SIGKILL);
    }
  }
};

// RUN-14
TEST_F(RunQueue, twenty_runs_start_three_at_a_time_in_order) {
  limit(3);
  constexpr int runs = 20;
  int waiting = 0;
  for (int i = 1; i <= runs; ++i) {
    const Outcome outcome = enqueue();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, fmt::format("TR-{}\n", i));
    waiting += outcome.err.contains("waits for its turn") ? 1 : 0;
  }
  EXPECT_EQ(waiting, runs - 3);
  EXPECT_EQ(count("running"), 3U);
  EXPECT_EQ(count("queued"), 17U);
  EXPECT_EQ(show("TR-20")["reason"], "waits for its turn");
  go();
  for (int i = 1; i <= runs; ++i) EXPECT_EQ(finish(fmt::format("TR-{}", i))["status"], "completed") << i;
  EXPECT_EQ(most_alive(), 3);
  EXPECT_THAT(statuses_of("TR-20"), ElementsAre("queued", "running", "completed"));
  EXPECT_EQ(show("TR-20")["reason"], "null");
  // Three at a time may swap their first lines.
  const auto started = order();
  ASSERT_EQ(started.size(), 20U);
  for (int i = 0; i < runs; ++i) {
    const int number = std::stoi(started[static_cast<std::size_t>(i)].substr(3));
    EXPECT_LE(std::abs(number - 1 - i), 3) << i;
  }
}

// RUN-14
TEST_F(RunQueue, higher_priority_starts_first) {
  limit(1);
  enqueue();
  enqueue();
  enqueue({"--priority", "5"});
  enqueue({"--priority=-5"});
  enqueue({"--priority", "5"});
  go();
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(finish(fmt::format("TR-{}", i))["status"], "completed");
  EXPECT_THAT(order(), ElementsAre("TR-1", "TR-3", "TR-5", "TR-2", "TR-4"));
  EXPECT_EQ(enqueue({"--priority", "101"}).code, 2);
  EXPECT_EQ(enqueue({"--priority", "soon"}).code, 2);
}

// RUN-14: a person who does not queue does not wait.
TEST_F(RunQueue, runs_without_queue_start_at_once) {
  limit(1);
  enqueue();
  enqueue();
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(show("TR-2")["status"], "queued");
  go();
  EXPECT_EQ(finish("TR-2")["status"], "completed");
}

// RUN-14
TEST_F(RunQueue, config_can_queue_every_run_of_a_person) {
  limit(1, ", queue: always");
  const Words command = noting();
  Words words = {"run", "--detach", "--"};
  words.insert(words.end(), command.begin(), command.end());
  reeve(words);
  EXPECT_THAT(reeve(words).err, HasSubstr("TR-2 waits for its turn"));
  go();
  EXPECT_EQ(finish("TR-2")["status"], "completed");
  // A run inside a run does not wait for the slot of the run that waits for it.
  const Outcome nested =
      reeve({"run", "--", "sh", "-c", testing::reeve_binary() + " --state " + state().string() + " run -- echo inner"});
  EXPECT_EQ(nested.code, 0) << nested.err;
  EXPECT_EQ(nested.out, "inner\n");
}

// RUN-14: a run that was queued is queued again, with its priority.
TEST_F(RunQueue, rerun_keeps_the_queue_and_the_priority) {
  limit(1);
  go();
  enqueue({"--priority", "5", "--stdin", "none"});
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  std::filesystem::remove(project() / "go");
  enqueue();
  wait_for_status("TR-2", "running");
  enqueue();
  EXPECT_THAT(reeve({"rerun", "TR-1", "--detach"}).err, HasSubstr("TR-4 waits for its turn"));
  EXPECT_EQ(reeve({"rerun", "TR-1", "--detach", "--priority=-5"}).out, "TR-5\n");
  EXPECT_EQ(reeve({"rerun", "TR-1", "--detach", "--priority", "101"}).code, 2);
  go();
  EXPECT_EQ(finish("TR-5")["status"], "completed");
  EXPECT_THAT(order(), ElementsAre("TR-1", "TR-2", "TR-4", "TR-3", "TR-5"));
}

// RUN-13, RUN-14
TEST_F(RunQueue, queue_survives_the_daemon_in_order) {
  limit(1);
  enqueue();
  enqueue();
  enqueue({"--priority", "1"});
  enqueue();
  kill_daemon();
  EXPECT_EQ(reeve({"runs"}).code, 0);
  EXPECT_EQ(show("TR-1")["status"], "running");
  EXPECT_EQ(count("queued"), 3U) << "the run that is alive uses the slot";
  kill_daemon();
  go();
  EXPECT_EQ(reeve({"runs"}).code, 0);
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(finish(fmt::format("TR-{}", i))["status"], "completed");
  EXPECT_THAT(order(), ElementsAre("TR-1", "TR-3", "TR-2", "TR-4"));
}

// RUN-13: the run exists as soon as the store says so.
TEST_F(RunQueue, run_queued_just_before_a_crash_still_starts) {
  limit(1);
  const auto daemon =
      start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "group.after_commit_before_publish"}});
  ASSERT_TRUE(daemon->wait_for_error("listening"));
  const Outcome outcome = enqueue();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  go();
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_THAT(order(), ElementsAre("TR-1"));
}

TEST_F(RunQueue, run_that_is_about_to_start_when_the_daemon_dies_starts_once) {
  limit(1);
  for (const char* point : {"run.after_enqueue", "run.after_tx_spawned"}) {
    const auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    ASSERT_TRUE(daemon->wait_for_error("listening"));
    EXPECT_EQ(enqueue().code, 0);
    go();
    const std::string id = "@last";
    EXPECT_EQ(finish(show(id)["tool_run_id"])["status"], "completed") << point;
    EXPECT_EQ(reeve({"stop"}).code, 0);
  }
  EXPECT_EQ(order().size(), 2U);
}

// RUN-15
TEST_F(RunQueue, cancelled_run_leaves_the_queue) {
  limit(1);
  enqueue();
  enqueue();
  enqueue();
  EXPECT_EQ(reeve({"cancel", "TR-2", "--reason", "not needed"}).code, 0);
  EXPECT_EQ(show("TR-2")["status"], "cancelled");
  EXPECT_THAT(show("TR-2")["reason"], HasSubstr("not needed"));
  go();
  EXPECT_EQ(finish("TR-3")["status"], "completed");
  EXPECT_THAT(order(), ElementsAre("TR-1", "TR-3"));
  EXPECT_FALSE(std::filesystem::exists(state() / "runs/TR-2/launch")) << "it contains the environment";
}

// RUN-14: the client is not what holds the place.
TEST_F(RunQueue, run_whose_client_leaves_keeps_its_place) {
  limit(1);
  enqueue();
  const auto client = start({"run", "--queue", "--", "echo", "my turn"});
  ASSERT_TRUE(client->wait_for_error("TR-2 waits for its turn"));
  client->signal(SIGHUP);
  EXPECT_EQ(client->wait(), 128 + SIGHUP);
  go();
  EXPECT_EQ(finish("TR-2")["status"], "completed");
  EXPECT_EQ(logs("TR-2"), "my turn\n");
}

// RUN-15: in the queue too, Ctrl-C cancels the run that was started here.
TEST_F(RunQueue, ctrl_c_in_the_queue_cancels_the_run) {
  limit(1);
  enqueue();
  const auto client = start({"run", "--queue", "--", "echo", "never"});
  ASSERT_TRUE(client->wait_for_error("TR-2 waits for its turn"));
  client->signal(SIGINT);
  EXPECT_EQ(client->wait(), 130);
  EXPECT_EQ(show("TR-2")["status"], "cancelled");
  go();
}

TEST_F(RunQueue, waiting_client_shows_the_output_of_its_turn) {
  limit(1);
  enqueue();
  const auto client = start({"run", "--queue", "--", "echo", "my turn"});
  ASSERT_TRUE(client->wait_for_error("TR-2 waits for its turn"));
  go();
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(client->out(), "my turn\n");
}

// RUN-14: runs that wait for an approval do not count.
TEST_F(RunQueue, waiting_for_an_approval_frees_the_slot) {
  limit(1);
  const std::string asks = "[ \"$REEVE_ATTEMPT\" = 2 ] || exit 90; echo answered";
  EXPECT_EQ(reeve({"run", "--queue", "--no-wait", "--", "sh", "-c", asks}).code, 90);
  EXPECT_EQ(reeve({"run", "--queue", "--", "true"}).code, 0);
  EXPECT_EQ(reeve({"approve", "AP-1", "--yes"}).code, 0);
  EXPECT_EQ(finish("TR-1")["status"], "completed");
}

// APR-11: a process inside a run cannot overtake the runs of people.
TEST_F(RunQueue, process_inside_a_run_cannot_raise_a_priority) {
  const Outcome outcome =
      reeve({"run", "--", "sh", "-c",
             testing::reeve_binary() + " --state " + state().string() + " run --queue --priority 1 -- true"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("run.inside_run"));
}

}  // namespace
}  // namespace reeve
