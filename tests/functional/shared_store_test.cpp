#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"
#include "tests/support/process_states.h"
#include "tests/support/socket.h"
#include "tests/support/websocket_client.h"

// Several daemons on one machine, each with its own state folder, on one PostgreSQL (tests/CMakeLists.txt): they see
// each other's changes, and none takes over the runs of another.
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
    store_ = fmt::format("postgresql:///{}?host={}&user=reeve", database, server);
    poll_every("200ms");
  }
  // Writes the user's config, which every state folder uses. For daemons that start later.
  void poll_every(const std::string& interval) {
    scratch().write("home/.config/reeve/config.yaml",
                    fmt::format("store: '{}'\nsupervision: {{poll_interval: {}}}\n", store_, interval));
  }
  void TearDown() override {
    for (const char* name : {"b", "c"}) {
      if (fs::exists(folder(name) / "reeve.sock")) EXPECT_EQ(at(name, {"stop"}).code, 0);
    }
    ApprovalFlowTest::TearDown();
  }

  fs::path folder(const std::string& name) const { return scratch().path() / name; }
  // A is the test's own daemon; this is one of the others.
  testing::Launch launch_at(const std::string& name, const Words& words) const {
    testing::Launch made = launch(words);
    for (auto& [key, value] : made.environment) {
      if (key == "REEVE_STATE") value = folder(name).string();
    }
    return made;
  }
  Outcome at(const std::string& name, const Words& words) const { return testing::run_program(launch_at(name, words)); }
  fs::path launch_file(const std::string& run) const { return state() / "runs" / run / "launch"; }
  // An execution whose only task waits for the gate; returns its id.
  std::string start_holding_flow(const Gate& gate) const {
    configure("tools: {sh: {command: [sh, -c, \"{prompt}\"]}}\n");
    scratch().write(
        "project/hold.yaml",
        fmt::format("{{id: hold, name: Hold, entry_point: hold, nodes: [{{id: hold, type: task, task_config: "
                    "{{role: coder, task_template: \"read x <'{}'\"}}}}], edges: [], config: {{isolation: "
                    "none}}}}",
                    gate.path()));
    const Outcome started = reeve({"flow", "run", "hold.yaml", "--detach"});
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }

 private:
  std::string store_;
};

// APR-7: the run is restarted where its launch file is.
TEST_F(SharedStore, a_run_that_is_approved_elsewhere_is_started_by_its_own_daemon) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const Outcome approved = at("b", {"approve", "--yes", question_of(run)});
  EXPECT_EQ(approved.code, 0) << approved.err;
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
  EXPECT_EQ(effects().size(), 1U);
}

// APR-6: the decision reaches the daemon of the run at its commit. No poll helps here.
TEST_F(SharedStore, decisions_made_elsewhere_take_effect_without_a_poll) {
  poll_every("1h");
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  std::vector<std::string> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(start_script(asks_then("effect")));
  for (const std::string& run : runs) wait_for_status(run, "waiting_approval");
  // In quick succession: none may be overlooked because another one was just handled.
  for (const std::string& run : runs) {
    testing::RawSocket peer(folder("b") / "reeve.sock");
    EXPECT_TRUE(peer.send(testing::make_request("POST", "/api/approvals/" + question_of(run) + "/approve", "{}")));
    EXPECT_THAT(peer.read_answer(), HasSubstr(R"("status":"approved")"));
  }
  for (const std::string& run : runs) EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(effects().size(), runs.size());
}

TEST_F(SharedStore, logs_of_a_run_elsewhere_say_where_they_are) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script("echo printed");
  finish(run);
  const Outcome there = at("b", {"logs", run});
  EXPECT_EQ(there.code, 4);
  EXPECT_EQ(there.out, "");
  EXPECT_THAT(there.err, HasSubstr("the output of " + run + " is with another daemon, on the host "));
  EXPECT_THAT(there.err, HasSubstr("reeve --state " + state().string() + " logs " + run)) << "the same host";
  EXPECT_EQ(logs(run), "printed\n");
}

// RUN-13: a starting daemon recovers only its own runs.
TEST_F(SharedStore, starting_daemon_leaves_runs_of_others_alone) {
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

// The launch file contains the environment of the run.
TEST_F(SharedStore, the_launch_of_a_run_that_was_ended_elsewhere_is_removed) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  const std::string before = start_script(asks_then("effect"));
  for (const std::string& one : {run, before}) wait_for_status(one, "waiting_approval");
  EXPECT_TRUE(fs::exists(launch_file(run)));
  EXPECT_EQ(at("b", {"reject", question_of(run)}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(launch_file(run)); }));
  // Also one that was already waiting when its daemon started.
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(show(before).at("status"), "waiting_approval");
  EXPECT_EQ(at("b", {"cancel", before}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(launch_file(before)); }));
}

TEST_F(SharedStore, decision_made_elsewhere_wakes_waiters) {
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

// RUN-13, GRF-13: no daemon renewed the lease, so its keeper ended the run. That is not a failure of the tool: a person
// is asked.
TEST_F(SharedStore, run_ended_by_its_keeper_counts_as_interrupted) {
  configure("supervision: {lease: 1s, adopt_grace: 2s}\n");
  const std::string run = start_script("test -e again && exec echo done; touch again; echo begun; sleep 600");
  wait_for_output(run, "begun");
  // Including the guard, which would restart it.
  for (const testing::FoundProcess& process : processes()) {
    if (process.command.contains(" guard ")) ::kill(process.pid, SIGKILL);
  }
  kill_daemon();
  ASSERT_TRUE(eventually([&] { return tools().empty(); })) << "its keeper does not end it";
  wait_for_status(run, "waiting_approval");
  EXPECT_THAT(show(question_of(run)).at("question"), HasSubstr("was interrupted"));
  EXPECT_THAT(logs(run), HasSubstr("begun")) << "what it had said is there";
  EXPECT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
}

// The settings of an execution, with its environment, are stored on the host that started it.
TEST_F(SharedStore, execution_ended_elsewhere_is_cleaned_up_at_its_start_host) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  scratch().write("project/.reeve/workflows/ask.yaml",
                  "{id: ask, name: Ask, entry_point: ask, nodes: [{id: ask, type: human, human_config: {title: 'Go "
                  "on?'}}], edges: [], config: {isolation: none}}");
  const Outcome started = reeve({"flow", "run", "ask", "--detach"});
  ASSERT_EQ(started.code, 0) << started.err;
  const fs::path settings = state() / "executions" / started.out.substr(0, started.out.find('\n'));
  ASSERT_TRUE(fs::exists(settings / "open"));
  EXPECT_EQ(at("b", {"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(settings); })) << "nobody removes it";
}

// §9: numbered without gaps across all daemons of a store; a subscriber of one daemon gets the events of all.
TEST_F(SharedStore, events_of_another_daemon_arrive_in_order) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  testing::WebSocketClient client(socket(), "/api/events");
  ASSERT_TRUE(client.is_open()) << client.head();
  client.send_text(R"({"type":"subscribe","events":["*"],"since":0})");
  EXPECT_THAT(client.read_text().value_or(""), HasSubstr("subscribed"));
  ASSERT_EQ(at("b", {"run", "--", "true"}).code, 0);
  ASSERT_EQ(reeve({"run", "--", "true"}).code, 0);
  ASSERT_EQ(at("b", {"run", "--", "true"}).code, 0);
  // Each daemon reserves run numbers in advance, so only the event numbers give the order.
  std::vector<std::string> runs;
  for (int i = 1; i <= 9; ++i) {
    Members event = testing::parse_object(client.read_text().value_or("{}")).value_or(Members());
    EXPECT_EQ(event["seq"], std::to_string(i));
    if (runs.empty() || runs.back() != event["tool_run_id"]) runs.push_back(event["tool_run_id"]);
  }
  EXPECT_EQ(runs.size(), 3U) << "three events each, one run after the other";
}

// GRF-13: each daemon pauses the runs that it holds. No poll helps here.
TEST_F(SharedStore, execution_paused_elsewhere_stops_its_runs_where_they_are) {
  poll_every("1h");
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const Gate gate(scratch().path() / "gate");
  const std::string id = start_holding_flow(gate);
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  const std::string run = testing::parse_object(at("b", {"show", "@last", "--json"}).out).value()["tool_run_id"];
  const Outcome paused = at("b", {"pause", id});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_TRUE(eventually([&] { return testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  EXPECT_NE(show(run).at("paused_at"), "null");
  // What a person lets continue there stays so, whatever else happens in the store.
  EXPECT_EQ(reeve({"resume", run}).code, 0);
  EXPECT_TRUE(eventually([&] { return !testing::are_stopped(tools(), 1); }));
  ASSERT_EQ(at("b", {"run", "--", "true"}).code, 0);
  EXPECT_EQ(show(run).at("paused_at"), "null");
  // Paused again, and continued through the other daemon.
  EXPECT_EQ(at("b", {"pause", id}).code, 0);
  EXPECT_TRUE(eventually([&] { return testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  EXPECT_EQ(at("b", {"resume", id}).code, 0);
  EXPECT_TRUE(eventually([&] { return !testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  EXPECT_EQ(show(run).at("paused_at"), "null");
  gate.open();
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(at("b", {"wait", id}).code, 0);
}

// What was paused at its own host continues, too.
TEST_F(SharedStore, execution_resumed_elsewhere_continues_where_it_was_paused) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const Gate gate(scratch().path() / "gate");
  const std::string id = start_holding_flow(gate);
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  EXPECT_TRUE(eventually([&] { return testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  // Also when its daemon was away meanwhile.
  kill_daemon();
  EXPECT_EQ(at("b", {"resume", id}).code, 0);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  gate.open();
  EXPECT_EQ(at("b", {"wait", id}).code, 0);
}

TEST_F(SharedStore, what_only_a_runs_own_daemon_can_do_names_its_place) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_command({"sleep", "600"});
  const std::string there = "reeve --state " + state().string();
  for (const Words& words : {Words{"pause", run}, {"resume", run}, {"limit", run, "--timeout", "2h"}}) {
    const Outcome refused = at("b", words);
    EXPECT_EQ(refused.code, 4) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("error[run.not_here]: " + run + " is with another daemon, on the host "));
    EXPECT_THAT(refused.err, HasSubstr(there + " " + words.front() + " " + run));
  }
  const Outcome shown = at("b", {"show", run});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("process\t" + run + " is with another daemon, on the host "));
  EXPECT_THAT(shown.err, HasSubstr(there + " show " + run));
  EXPECT_THAT(at("b", {"show", run, "--process", "--json"}).out, HasSubstr(R"("process":null)"));
  EXPECT_THAT(reeve({"show", run}).out, HasSubstr("pid\t"));
  EXPECT_EQ(reeve({"cancel", run, "--kill"}).code, 0);
  finish(run);
  EXPECT_THAT(at("b", {"pause", run}).err, HasSubstr("error[run.not_running]"));
}

TEST_F(SharedStore, backup_is_refused_with_the_command_that_makes_one) {
  const Outcome refused = reeve({"backup", (scratch().path() / "state.backup").string()});
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("error[backup.not_sqlite]"));
  EXPECT_THAT(refused.err, HasSubstr("pg_dump --file=reeve.sql 'postgresql://…'"));
  EXPECT_FALSE(fs::exists(scratch().path() / "state.backup"));
}

// The secret is not stored: only the daemon that owns the run can type it.
TEST_F(SharedStore, secret_is_accepted_only_by_the_runs_own_daemon) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run =
      start_command({"bash", "-c", R"(read -s -p "Password: " a; echo; echo "it has ${#a} letters")"}, {"--pty"});
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  testing::Launch elsewhere = launch_at("b", {"approve", "--yes", id, "--secret-stdin"});
  elsewhere.input = "correct-horse\n";
  const Outcome refused = testing::run_program(elsewhere);
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("run.not_here"));
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_EQ(show(id)["advisory"], "true");
  testing::Launch here = launch({"approve", "--yes", id, "--secret-stdin"});
  here.input = "correct-horse\n";
  EXPECT_EQ(testing::run_program(here).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("it has 13 letters"));
}

// The tool may reach the database server as well.
TEST_F(SharedStore, approval_is_advisory_even_in_a_sandbox) {
  configure("tools:\n  kept: {command: [/bin/sh, -c], sandbox: guard}\n");
  const std::string run = start_tool("kept", {ask_line() + "; exit 90"});
  wait_for_status(run, "waiting_approval");
  EXPECT_EQ(show(question_of(run))["advisory"], "true");
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
}

}  // namespace
}  // namespace reeve
