#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/files.h"
#include "tests/support/process_states.h"

// What people see of a live run and change about it while it runs.
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class RunControl : public testing::DaemonTest {
 protected:
  // The value of a line of `reeve show`, as a number; -1 without such a line.
  std::int64_t shown_number(const std::string& id, const std::string& key) const {
    const Outcome shown = reeve({"show", id});
    for (const std::string& line : testing::lines_of(shown.out)) {
      if (line.starts_with(key + "\t")) return std::stoll(line.substr(key.size() + 1));
    }
    return -1;
  }
  std::string states() const { return testing::states_of(tools()); }
  bool are_stopped(std::size_t count) const { return testing::are_stopped(tools(), count); }
  void kill_daemon() const {
    const pid_t pid = static_cast<pid_t>(std::stoi(testing::read_text(state() / "reeve.lock")));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
  }
};

// UX, RUN-3, RUN-5: the three clocks, the limits, and what the process tree uses.
TEST_F(RunControl, show_has_the_clocks_limits_and_resources_of_a_live_run) {
  const std::string id =
      detach({"--timeout", "2h", "--no-output-timeout", "7m", "--on-stall", "kill"}, {"busy", "600"});
  ASSERT_TRUE(eventually([&] { return shown_number(id, "cpu_ms") > 200; }));
  const Outcome shown = reeve({"show", id});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("last_output_at\tnever\n"), HasSubstr("last_heartbeat_at\tnever\n"),
                               HasSubstr("last_activity_at\t20"), HasSubstr("timeout\t2h\n"),
                               HasSubstr("no_output_timeout\t7m\n"), HasSubstr("on_stall\tkill\n")));
  EXPECT_GT(shown_number(id, "memory_bytes"), 0);
  EXPECT_EQ(shown_number(id, "processes"), 1);
  const std::int64_t left = shown_number(id, "time_left_ms");
  EXPECT_GT(left, 7'000'000);
  EXPECT_LT(left, 7'200'000);
  const auto pid = static_cast<pid_t>(shown_number(id, "pid"));
  ASSERT_EQ(tools().size(), 1U);
  EXPECT_EQ(pid, tools().front().pid);
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
  EXPECT_THAT(reeve({"show", id}).out, AllOf(Not(HasSubstr("pid\t")), Not(HasSubstr("memory"))));
}

// The same for a program; without the option the record is as the API has it.
TEST_F(RunControl, show_json_has_the_process_on_request) {
  const std::string id = detach({"--timeout", "2h"}, {"silent", "600"});
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  EXPECT_EQ(show(id).count("process"), 0U);
  Members process;
  // Its keeper reports the pid a moment after it has started the tool.
  ASSERT_TRUE(eventually([&] {
    Members record = testing::parse_object(reeve({"show", id, "--process", "--json"}).out).value_or(Members());
    process = testing::parse_object(record["process"]).value_or(Members());
    return process["pid"] == std::to_string(tools().front().pid);
  }));
  EXPECT_EQ(process["timeout_ms"], "7200000");
  EXPECT_GT(std::stoll(process["time_left_ms"]), 7'000'000);
  EXPECT_GT(std::stoll(process["memory_bytes"]), 0);
  EXPECT_TRUE(process.contains("cpu_ms"));
  EXPECT_EQ(process["on_stall"], "mark");
  for (const char* clock : {"last_output_at", "last_heartbeat_at"}) EXPECT_EQ(process[clock], "null");
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
  EXPECT_THAT(reeve({"show", id, "--process", "--json"}).out, HasSubstr(R"("process":null)"));
}

// RUN-3: the limit of a live run, which its next attempts keep.
TEST_F(RunControl, limit_changes_the_timeout_of_a_live_run) {
  const std::string id = detach({"--timeout", "30m", "--no-output-timeout", "5m"}, {"silent", "600"});
  const Outcome limited = reeve({"limit", id, "--timeout", "2h", "--no-output-timeout", "off"});
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_THAT(limited.out, AllOf(HasSubstr(id + " timeout 2h (1h59m left)"), HasSubstr("no-output timeout off")));
  EXPECT_THAT(reeve({"show", id}).out, AllOf(HasSubstr("timeout\t2h\n"), HasSubstr("no_output_timeout\toff\n")));
  EXPECT_GT(shown_number(id, "time_left_ms"), 7'000'000);
  bool is_told = false;
  for (Members& line : combined_log()) {
    is_told = is_told || line["reason"].starts_with("timeout set to 2h, no-output timeout set to off by ");
  }
  EXPECT_TRUE(is_told);
  // A run that was started with less time ends at the new limit, also after its daemon was killed.
  kill_daemon();
  EXPECT_GT(shown_number(id, "time_left_ms"), 7'000'000);
  EXPECT_THAT(reeve({"show", id}).out, HasSubstr("timeout\t2h\n"));
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
  EXPECT_EQ(reeve({"limit", id, "--timeout", "3h"}).code, 4);
}

TEST_F(RunControl, a_limit_that_has_passed_is_refused_and_a_shorter_one_ends_the_run) {
  const std::string id = detach({"--timeout", "1h"}, {"silent", "600"});
  ASSERT_TRUE(eventually([&] { return shown_number(id, "time_left_ms") < 3'598'500; }));
  const Outcome passed = reeve({"limit", id, "--timeout", "1s"});
  EXPECT_EQ(passed.code, 4);
  EXPECT_THAT(passed.err, AllOf(HasSubstr("error[run.limit_passed]"), HasSubstr("has already run for longer than 1s"),
                                HasSubstr("reeve cancel " + id)));
  EXPECT_EQ(show(id)["status"], "running");
  EXPECT_EQ(reeve({"limit", id, "--timeout", "4s"}).code, 0);
  EXPECT_EQ(finish(id)["status"], "failed_timeout");
  EXPECT_THAT(reeve({"limit", id}).err, HasSubstr("which limit?"));
  EXPECT_THAT(reeve({"limit", id, "--timeout", "soon"}).err, HasSubstr("is not a valid value for `--timeout`"));
}

// SIGSTOP reaches the whole tree, also children that left the group, and the clocks stand still.
TEST_F(RunControl, pause_stops_the_whole_tree_and_resume_continues_it) {
  const Outcome started =
      reeve({"run", "--detach", "--timeout", "1h", "--", "sh", "-c",
             "setsid sleep 600 & sleep 601 & echo ready; read x; i=0; while :; do i=$((i+1)); done"});
  ASSERT_EQ(started.code, 0) << started.err;
  const std::string id = "TR-1";
  wait_for_output(id, "ready\n");
  ASSERT_TRUE(eventually([&] { return tools().size() == 3; }));
  const Outcome paused = reeve({"pause", id});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_THAT(paused.out, HasSubstr(id + " paused: sh -c "));
  EXPECT_TRUE(eventually([&] { return are_stopped(3); })) << states();
  EXPECT_NE(show(id)["paused_at"], "null");
  EXPECT_EQ(show(id)["status"], "running");
  const std::int64_t left = shown_number(id, "time_left_ms");
  EXPECT_EQ(shown_number(id, "time_left_ms"), left);
  // Repeating it changes nothing.
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  EXPECT_EQ(reeve({"resume", id}).code, 0);
  EXPECT_TRUE(eventually([&] { return states().find('T') == std::string::npos; })) << states();
  EXPECT_EQ(show(id)["paused_at"], "null");
  EXPECT_TRUE(eventually([&] { return shown_number(id, "time_left_ms") < left; }));
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  EXPECT_EQ(finish(id)["status"], "cancelled");
  EXPECT_EQ(reeve({"pause", id}).code, 4);
}

TEST_F(RunControl, overview_counts_a_paused_run_as_paused) {
  const std::string id = detach({}, {"silent", "600"});
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  EXPECT_THAT(reeve({"--json"}).out, HasSubstr(R"("paused":0)"));
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  ASSERT_TRUE(eventually([&] { return are_stopped(1); }));
  EXPECT_THAT(reeve({"--json"}).out, AllOf(HasSubstr(R"("paused":1)"), HasSubstr(R"("running":0)")));
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
}

// RUN-15: SIGTERM reaches a stopped process only because it is continued.
TEST_F(RunControl, paused_run_can_be_cancelled_gracefully) {
  const Outcome started = reeve({"run", "--detach", "--", "sh", "-c",
                                 "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.1; done"});
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "ready\n");
  EXPECT_EQ(reeve({"pause", "TR-1"}).code, 0);
  ASSERT_TRUE(eventually([&] { return are_stopped(1); }));
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
  EXPECT_EQ(finish("TR-1")["status"], "cancelled");
  EXPECT_THAT(logs("TR-1"), HasSubstr("cleaned up\n"));
  EXPECT_EQ(show("TR-1")["paused_at"], "null");
}

TEST_F(RunControl, process_of_a_paused_run_can_die) {
  const std::string id = detach({}, {"silent", "600"});
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  ASSERT_TRUE(eventually([&] { return are_stopped(1); }));
  ::kill(tools().front().pid, SIGKILL);
  Members ended = finish(id);
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["reason"], "signal 9");
}

// RUN-13: the next daemon knows that it is paused.
TEST_F(RunControl, paused_run_stays_paused_when_the_daemon_dies) {
  const std::string id = detach({"--timeout", "1h"}, {"busy", "600"});
  ASSERT_TRUE(eventually([&] { return tools().size() == 1; }));
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  ASSERT_TRUE(eventually([&] { return are_stopped(1); }));
  const std::int64_t left = shown_number(id, "time_left_ms");
  kill_daemon();
  EXPECT_NE(show(id)["paused_at"], "null");
  EXPECT_EQ(shown_number(id, "time_left_ms"), left);
  EXPECT_TRUE(are_stopped(1));
  EXPECT_EQ(reeve({"resume", id}).code, 0);
  EXPECT_TRUE(eventually([&] { return !are_stopped(1); }));
  EXPECT_TRUE(eventually([&] { return shown_number(id, "time_left_ms") < left; }));
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  finish(id);
}

// A paused process is not continued behind the back of the person who paused it.
TEST_F(RunControl, processes_inside_a_run_change_neither_pause_nor_limits) {
  const std::string client = testing::reeve_binary() + " --state " + state().string();
  const Outcome outcome = reeve(
      {"run", "--", "sh", "-c",
       fmt::format("{0} limit $REEVE_RUN_ID --timeout 9h; {0} pause $REEVE_RUN_ID; {0} resume $REEVE_RUN_ID; true",
                   client)});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(testing::count_of(outcome.err, "error[api.inside_run]"), 3) << outcome.err;
}

// The same command, folder and limits, with the environment of the caller.
TEST_F(RunControl, rerun_starts_a_new_run_with_the_same_launch) {
  const Outcome first = reeve({"run", "--timeout", "7m", "--meta", "why=nightly", "--env", "STAGE=one", "--", "sh",
                               "-c", "echo $STAGE $PLACE; pwd; exit 3"},
                              {{"PLACE", "here"}});
  EXPECT_EQ(first.code, 3);
  // A value that was given with --env is not kept.
  const Outcome refused = reeve({"rerun", "TR-1"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("error[run.no_rerun]"), HasSubstr("it was started with --env STAGE"),
                                 HasSubstr("reeve rerun TR-1 --env STAGE=VALUE")));
  const Outcome second = reeve({"rerun", "tr-1", "--env", "STAGE=two"}, {{"PLACE", "there"}});
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_EQ(second.out, "two there\n" + project().string() + "\n");
  Members record = show("TR-2");
  EXPECT_EQ(record["argv"], show("TR-1")["argv"]);
  EXPECT_THAT(record["metadata"], AllOf(HasSubstr(R"("rerun_of":"TR-1")"), HasSubstr(R"("why":"nightly")")));
  // And once more.
  EXPECT_EQ(reeve({"rerun", "TR-2", "--env", "STAGE=three"}).code, 3);
}

TEST_F(RunControl, rerun_repeats_a_prompt_that_the_tool_read_from_its_input) {
  configure("tools:\n  reader: {command: [" + testing::zoo_binary() + ", read-stdin]}\n");
  EXPECT_EQ(reeve({"run", "--tool", "reader", "--prompt", "Fix the build"}).code, 0);
  const Outcome again = reeve({"rerun", "TR-1"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("Fix the build"));
  EXPECT_THAT(reeve({"rerun", "TR-1", "--prompt", "Other"}).out, HasSubstr("Other"));
}

// LOG-4: nothing that is secret outlives the run, so such a run is not repeated.
TEST_F(RunControl, rerun_needs_an_ended_run_without_secrets_in_its_command) {
  EXPECT_EQ(reeve({"run", "--", "sh", "-c", "echo hunter2hunter2"}, {{"MY_TOKEN", "hunter2hunter2"}}).code, 0);
  const Outcome refused = reeve({"rerun", "TR-1"}, {{"MY_TOKEN", "hunter2hunter2"}});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("its command contains a secret"));
  const std::string live = detach({}, {"silent", "600"});
  EXPECT_THAT(reeve({"rerun", live}).err, HasSubstr("it is running"));
  EXPECT_EQ(reeve({"cancel", live, "--kill"}).code, 0);
  finish(live);
  EXPECT_EQ(reeve({"rerun", "TR-99"}).code, 3);
}

// UX: a dismissed failure is no news, and stays on record.
TEST_F(RunControl, seen_dismisses_failures) {
  for (int i = 0; i < 3; ++i) run({}, {"exit", "2"});
  EXPECT_THAT(reeve({}).out, AllOf(HasSubstr("TR-1"), HasSubstr("TR-2"), HasSubstr("TR-3")));
  EXPECT_EQ(reeve({"seen", "TR-1"}).out, "TR-1 dismissed\n");
  EXPECT_THAT(reeve({}).out, AllOf(Not(HasSubstr("TR-1")), HasSubstr("TR-2"), HasSubstr("TR-3")));
  EXPECT_NE(show("TR-1")["seen_at"], "null");
  EXPECT_EQ(show("TR-1")["status"], "failed");
  EXPECT_EQ(reeve({"seen", "--all"}).code, 0);
  EXPECT_THAT(reeve({}).out, Not(HasSubstr("TR-")));
  EXPECT_EQ(testing::count_of(reeve({"runs", "--status", "failed"}).out, "\tfailed\t"), 3);
  run({}, {"exit", "0"});
  const Outcome refused = reeve({"seen", "TR-4"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("error[run.not_failed]"));
  EXPECT_THAT(reeve({"seen"}).err, HasSubstr("which failure?"));
}

TEST_F(RunControl, seen_dismisses_a_failed_execution_with_its_runs) {
  configure("tools: {sh: {command: [sh, -c, \"{prompt}\"]}}\n");
  scratch().write("project/w.yaml",
                  "{id: w, name: W, entry_point: a, nodes: [{id: a, type: task, task_config: {role: coder, "
                  "task_template: exit 3}}], edges: [], config: {isolation: none}}");
  EXPECT_EQ(reeve({"flow", "run", "w.yaml"}).code, 1);
  EXPECT_THAT(reeve({}).out, HasSubstr("EX-1"));
  EXPECT_EQ(reeve({"seen", "EX-1"}).out, "EX-1 dismissed\n");
  EXPECT_THAT(reeve({}).out, AllOf(Not(HasSubstr("EX-1")), Not(HasSubstr("TR-1"))));
  EXPECT_NE(show("EX-1")["seen_at"], "null");
  EXPECT_EQ(show("EX-1")["status"], "failed");
  const Outcome unknown = reeve({"seen", "EX-9"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("error[execution.not_found]"));
}

// SPEC 7: `--state` also takes a project, and `--host` an address without a scheme.
TEST_F(RunControl, state_takes_a_project_by_its_path) {
  run({}, {"exit", "0"});
  EXPECT_THAT(reeve({"runs", "--state", project().string()}).out, HasSubstr("TR-1"));
  EXPECT_THAT(reeve({"runs", "--host", "127.0.0.1:1"}).err, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(reeve({"runs", "--host", "example"}).err, HasSubstr("not a daemon address"));
}

}  // namespace
}  // namespace reeve
