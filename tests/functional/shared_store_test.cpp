#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"
#include "tests/support/socket.h"
#include "tests/support/websocket_client.h"

// Several daemons of one machine, each with a state folder of its own, on one PostgreSQL (tests/CMakeLists.txt): what
// one does is seen by the others, and nobody takes the runs of another for its own.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Words;

class SharedStore : public testing::ApprovalFlowTest {
 protected:
  void SetUp() override {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server was started";
    static int count = 0;
    const std::string database = fmt::format("shared_store_{}_{}", ::getpid(), ++count);
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    ASSERT_EQ(made.code, 0) << made.err;
    // Of the person: every state folder goes by it.
    scratch().write("home/.config/reeve/config.yaml",
                    fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\nsupervision: {{poll_interval: 200ms}}\n",
                                database, server));
  }
  void TearDown() override {
    for (const char* name : {"b", "c"}) {
      if (fs::exists(folder(name) / "reeve.sock")) EXPECT_EQ(at(name, {"stop"}).code, 0);
    }
    ApprovalFlowTest::TearDown();
  }

  fs::path folder(const std::string& name) const { return scratch().path() / name; }
  // The daemon of the test itself is A; this is one of the others.
  testing::Launch launch_at(const std::string& name, const Words& words) const {
    testing::Launch made = launch(words);
    for (auto& [key, value] : made.environment) {
      if (key == "REEVE_STATE") value = folder(name).string();
    }
    return made;
  }
  Outcome at(const std::string& name, const Words& words) const { return testing::run_program(launch_at(name, words)); }
  fs::path launch_file(const std::string& run) const { return state() / "runs" / run / "launch"; }
};

// APR-7: the run is started again where its launch lies.
TEST_F(SharedStore, a_run_that_is_approved_elsewhere_is_started_by_its_own_daemon) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const Outcome approved = at("b", {"approve", question_of(run)});
  EXPECT_EQ(approved.code, 0) << approved.err;
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
  EXPECT_EQ(effects().size(), 1U);
}

// RUN-13: a daemon that begins recovers its own runs.
TEST_F(SharedStore, a_daemon_that_begins_leaves_the_runs_of_others_alone) {
  const Gate gate(scratch().path() / "gate");
  const std::string run = start_script("echo begun; read line < " + gate.path() + "; " + effect_command("effect"));
  wait_for_output(run, "begun");
  for (const char* name : {"b", "c"}) EXPECT_THAT(at(name, {"show", run, "--json"}).out, HasSubstr("\"running\""));
  EXPECT_EQ(show(run).at("status"), "running");
  gate.open();
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "1");
  EXPECT_EQ(effects().size(), 1U);
}

// The launch holds the environment of the run.
TEST_F(SharedStore, the_launch_of_a_run_that_was_ended_elsewhere_is_removed) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  const std::string before = start_script(asks_then("effect"));
  for (const std::string& one : {run, before}) wait_for_status(one, "waiting_approval");
  EXPECT_TRUE(fs::exists(launch_file(run)));
  EXPECT_EQ(at("b", {"reject", question_of(run)}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(launch_file(run)); }));
  // One that waited when its daemon began, too.
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show(before).at("status"), "waiting_approval");
  EXPECT_EQ(at("b", {"cancel", before}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(launch_file(before)); }));
}

TEST_F(SharedStore, what_is_decided_elsewhere_is_told_to_those_who_wait) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  testing::RawSocket peer(folder("b") / "reeve.sock");
  EXPECT_TRUE(peer.send(testing::make_request("GET", "/api/approvals/" + id + "/wait?timeout=120s", "")));
  EXPECT_THAT(at("b", {"show", id, "--json"}).out, HasSubstr("pending"));
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  EXPECT_THAT(peer.read_answer(), HasSubstr(R"("status":"rejected")"));
}

// RUN-13, GRF-13: nobody renewed its lease, so that its keeper ended it. That is no failure of its own: a person is
// asked.
TEST_F(SharedStore, a_run_whose_keeper_gave_up_was_interrupted) {
  configure("supervision: {lease: 1s, adopt_grace: 2s}\n");
  const std::string run = start_script("test -e again && exec echo done; touch again; echo begun; sleep 600");
  wait_for_output(run, "begun");
  // With the guard, which would start it again.
  for (const testing::FoundProcess& process : processes()) {
    if (process.command.contains(" guard ")) ::kill(process.pid, SIGKILL);
  }
  kill_daemon();
  ASSERT_TRUE(eventually([&] { return tools().empty(); })) << "its keeper does not end it";
  wait_for_status(run, "waiting_approval");
  EXPECT_THAT(show(question_of(run)).at("question"), HasSubstr("was interrupted"));
  EXPECT_THAT(logs(run), HasSubstr("begun")) << "what it had said is there";
  EXPECT_EQ(reeve({"approve", question_of(run)}).code, 0);
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
}

// What an execution was started with lies where it was started, with its environment.
TEST_F(SharedStore, what_an_execution_had_is_removed_where_it_was_started_when_it_ends_elsewhere) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  scratch().write("project/.reeve/workflows/ask.yaml",
                  "{id: ask, name: Ask, entry_point: ask, nodes: [{id: ask, type: human, human_config: {title: 'Go "
                  "on?'}}], edges: [], config: {isolation: none}}");
  const Outcome started = reeve({"flow", "run", "ask", "--detach"});
  ASSERT_EQ(started.code, 0) << started.err;
  const fs::path ground = state() / "executions" / started.out.substr(0, started.out.find('\n'));
  ASSERT_TRUE(fs::exists(ground / "open"));
  EXPECT_EQ(at("b", {"approve", "AP-1"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(ground); })) << "nobody removes it";
}

// §9: numbered without gaps over all daemons of a store; who listens at one hears of all.
TEST_F(SharedStore, events_of_another_daemon_come_too_in_their_order) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  testing::WebSocketClient client(socket(), "/api/events");
  ASSERT_TRUE(client.is_open()) << client.head();
  client.send_text(R"({"type":"subscribe","events":["*"],"since":0})");
  EXPECT_THAT(client.read_text().value_or(""), HasSubstr("subscribed"));
  ASSERT_EQ(at("b", {"run", "--", "true"}).code, 0);
  ASSERT_EQ(reeve({"run", "--", "true"}).code, 0);
  ASSERT_EQ(at("b", {"run", "--", "true"}).code, 0);
  // Each daemon takes numbers of runs in advance, so that only the events' own say what came first.
  std::vector<std::string> runs;
  for (int i = 1; i <= 9; ++i) {
    Members event = testing::parse_object(client.read_text().value_or("{}")).value_or(Members());
    EXPECT_EQ(event["seq"], std::to_string(i));
    if (runs.empty() || runs.back() != event["tool_run_id"]) runs.push_back(event["tool_run_id"]);
  }
  EXPECT_EQ(runs.size(), 3U) << "three events each, one run after the other";
}

// It is stored nowhere: only who holds the run can type it.
TEST_F(SharedStore, a_secret_is_given_where_the_run_is) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run =
      start_command({"bash", "-c", R"(read -s -p "Password: " a; echo; echo "it has ${#a} letters")"}, {"--pty"});
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  testing::Launch elsewhere = launch_at("b", {"approve", id, "--secret-stdin"});
  elsewhere.input = "correct-horse\n";
  const Outcome refused = testing::run_program(elsewhere);
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("run.not_here"));
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_EQ(show(id)["advisory"], "true");
  testing::Launch here = launch({"approve", id, "--secret-stdin"});
  here.input = "correct-horse\n";
  EXPECT_EQ(testing::run_program(here).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("it has 13 letters"));
}

// The tool may reach the server as well.
TEST_F(SharedStore, an_approval_is_advisory_also_in_a_sandbox) {
  configure("tools:\n  kept: {command: [/bin/sh, -c], sandbox: guard}\n");
  const std::string run = start_tool("kept", {ask_line() + "; exit 90"});
  wait_for_status(run, "waiting_approval");
  EXPECT_EQ(show(question_of(run))["advisory"], "true");
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
}

}  // namespace
}  // namespace reeve
