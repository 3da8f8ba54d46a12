#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/daemon.h"

// The run socket (RUN-8, APR-5 `live`): a tool can ask, report and read its own approvals through it, and nothing else.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class RunSocket : public testing::DaemonTest {
 protected:
  RunSocket() {
    configure(
        "tools:\n"
        "  live: {command: [/bin/sh, -c], resume: live}\n"
        "  kept: {command: [/bin/sh, -c], resume: live, sandbox: guard}\n");
    // `at PATH` requests a path from the socket; `post PATH JSON` posts to it.
    scratch().write("project/functions",
                    "at() { curl -s --unix-socket \"$REEVE_SOCKET\" \"http://reeve/api/$1\"; }\n"
                    "post() { curl -s --unix-socket \"$REEVE_SOCKET\" -H 'Content-Type: application/json' -d \"$2\" "
                    "\"http://reeve/api/$1\"; }\n"
                    "wait_for() { while ! at \"approvals/$1/wait?timeout=20s\" | grep -q "
                    "'\"status\":\"\\(approved\\|rejected\\|expired\\)'; do sleep 0.05; done; }\n");
  }
  std::string begin(const std::string& tool, const std::string& script) const {
    const Outcome outcome = reeve({"run", "--detach", "--tool", tool, "--", ". ./functions\n" + script});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
  std::string say(const std::string& tool, const std::string& script) const {
    const Outcome outcome = reeve({"run", "--tool", tool, "--", ". ./functions\n" + script});
    return outcome.out;
  }
  void expect_live_answer(const std::string& tool) const {
    const std::string id = begin(tool,
                                 "post approvals '{\"question\":\"Deploy?\",\"approval_id\":\"deploy-1\"}' > asked\n"
                                 "wait_for deploy-1\n"
                                 "echo attempt $REEVE_ATTEMPT; at decisions");
    wait_for_status(id, "waiting_approval");
    EXPECT_EQ(reeve({"approve", "--yes", "AP-1", "--comment", "go on"}).code, 0);
    Members run = finish(id);
    EXPECT_EQ(run["status"], "completed");
    EXPECT_EQ(run["attempt"], "1");
    EXPECT_THAT(logs(id), HasSubstr("attempt 1\n"));
    EXPECT_THAT(logs(id), HasSubstr("\"deploy-1\":{"));
    EXPECT_THAT(logs(id), HasSubstr("go on"));
    EXPECT_THAT(testing::read_text(project() / "asked"), HasSubstr("\"approval_id\":\"AP-1\""));
  }
};

// APR-5: an answer that reached the running tool does not start it again, whatever its profile says.
TEST_F(RunSocket, tool_that_read_its_answer_is_not_restarted) {
  configure("tools:\n  plain: {command: [/bin/sh, -c]}\n");
  for (const char* word : {"approve", "reject"}) {
    const std::string run = begin("plain",
                                  "post approvals '{\"question\":\"Deploy?\",\"approval_id\":\"d\"}' > asked\n"
                                  "wait_for d\necho once >> effects");
    wait_for_status(run, "waiting_approval");
    const Outcome open = reeve({"approvals"});
    ASSERT_EQ(reeve(testing::decision(word, open.out.substr(0, open.out.find('\t')))).code, 0);
    Members over = finish(run);
    EXPECT_EQ(over["status"], "completed") << word;
    EXPECT_EQ(over["attempt"], "1") << word;
  }
  EXPECT_EQ(testing::read_text(project() / "effects"), "once\nonce\n");
}

// APR-5: the tool keeps running and continues with the answer in the same attempt.
TEST_F(RunSocket, tool_asks_waits_and_continues) { expect_live_answer("live"); }

// The only part of Reeve that is visible in a sandbox.
TEST_F(RunSocket, is_reachable_from_a_sandbox) { expect_live_answer("kept"); }

// APR-9: the tool gets the error; asking again after a lost connection returns the same question.
TEST_F(RunSocket, second_question_is_refused_and_a_repeat_is_the_same) {
  const std::string id = begin("live",
                               "post approvals '{\"question\":\"One?\",\"approval_id\":\"a\"}'; echo\n"
                               "post approvals '{\"question\":\"Two?\",\"approval_id\":\"b\"}'; echo\n"
                               "post approvals '{\"question\":\"One?\",\"approval_id\":\"a\"}'; echo\n"
                               "echo asked; wait_for a");
  wait_for_output(id, "asked");
  EXPECT_THAT(logs(id), HasSubstr("approval.one_at_a_time"));
  EXPECT_EQ(testing::count_of(logs(id), "\"approval_id\":\"AP-1\""), 2);
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  EXPECT_EQ(finish(id)["status"], "completed");
}

// RUN-8: a tool sees only its own approvals, by Reeve's id or its own.
TEST_F(RunSocket, approvals_of_other_runs_are_not_visible) {
  const std::string first =
      begin("live", "post approvals '{\"question\":\"Mine?\",\"approval_id\":\"mine\"}'; wait_for mine");
  wait_for_status(first, "waiting_approval");
  const std::string seen = say("live",
                               "at approvals; echo; at approvals/AP-1; echo; at approvals/mine; echo\n"
                               "at approvals/AP-1/wait?timeout=10s");
  EXPECT_THAT(seen, HasSubstr("{\"items\":[]}"));
  EXPECT_EQ(testing::count_of(seen, "\"code\":\"approval.not_found\""), 3);
  EXPECT_THAT(seen, Not(HasSubstr("Mine?")));
  // Nor through that run's socket.
  const std::string door = (state() / "runs" / first / "door/sock").string();
  EXPECT_THAT(say("live", "REEVE_SOCKET=" + door + "; at approvals; at run"), Not(HasSubstr("Mine?")));
  EXPECT_THAT(say("live", "REEVE_SOCKET=" + door + "; at approvals"), HasSubstr("api.not_from_a_run"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  finish(first);
}

// APR-11
TEST_F(RunSocket, decision_is_refused_and_audited) {
  const std::string id =
      begin("live",
            "post approvals '{\"question\":\"Go?\"}' > /dev/null\n"
            "post approvals/AP-1/approve '{}'; echo; post approvals/AP-1/decide '{\"choice\":\"approve\"}'; echo\n"
            "echo tried; wait_for AP-1; at approvals/AP-1");
  wait_for_output(id, "tried");
  EXPECT_EQ(testing::count_of(logs(id), "\"code\":\"approval.inside_run\""), 2);
  EXPECT_EQ(show(id)["status"], "waiting_approval");
  EXPECT_TRUE(testing::eventually([&] {
    int reported = 0;
    for (Members& line : combined_log()) {
      if (line["event"] == "policy_denied" && line["tool_run_id"] == id) ++reported;
    }
    return reported == 2;
  }));
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("decision_refused"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  EXPECT_EQ(finish(id)["status"], "completed");
}

// RUN-8
TEST_F(RunSocket, other_operations_are_refused) {
  const std::string said =
      say("live",
          "at runs; at events; at log; at healthz; at approvals/; post runs '{\"argv\":[\"true\"]}'\n"
          "post daemon/stop '{}'; post runs/TR-1/cancel '{}'; curl -s --unix-socket $REEVE_SOCKET http://x/healthz");
  EXPECT_EQ(testing::count_of(said, "\"code\":\"api.not_from_a_run\""), 8) << said;
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// The same as printing the line.
TEST_F(RunSocket, tool_can_report_progress_usage_and_errors) {
  const std::string id = begin("live",
                               "post report '{\"event\":\"progress\",\"percent\":40,\"message\":\"compiling\"}'\n"
                               "post report '{\"event\":\"usage\",\"input_tokens\":10,\"output_tokens\":2}'\n"
                               "post report '{\"event\":\"nonsense\"}'; post report '[]'; post report '{'; at run\n"
                               "post report '{\"event\":\"error\",\"message\":\"broken\",\"fatal\":true}'");
  Members run = finish(id);
  EXPECT_EQ(run["status"], "failed");
  EXPECT_EQ(run["last_error"], "broken");
  EXPECT_THAT(run["progress"], HasSubstr("compiling"));
  EXPECT_THAT(run["usage"], HasSubstr("10"));
  EXPECT_EQ(testing::count_of(logs(id), "\"code\":\"api.bad_request\""), 3) << logs(id);
  EXPECT_THAT(logs(id), HasSubstr("\"tool_run_id\":\"" + id + "\""));
}

// APR-13: the next daemon serves the same socket.
TEST_F(RunSocket, survives_a_daemon_restart) {
  const std::string id = begin("live",
                               "post approvals '{\"question\":\"Go?\",\"approval_id\":\"a\"}' > /dev/null\n"
                               "echo asked; wait_for a; echo answered");
  wait_for_output(id, "asked");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  Members run = finish(id);
  EXPECT_EQ(run["status"], "completed");
  EXPECT_EQ(run["attempt"], "1");
  EXPECT_THAT(logs(id), HasSubstr("answered"));
}

TEST_F(RunSocket, is_private_and_removed_at_the_end) {
  const std::string id = begin("live", "echo up; cat functions > /dev/null; while ! [ -e stop ]; do sleep 0.05; done");
  wait_for_output(id, "up");
  const fs::path folder = state() / "runs" / id / "door";
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_socket(folder / "sock"));
  scratch().write("project/stop", "");
  finish(id);
  EXPECT_TRUE(testing::eventually([&] { return !fs::exists(folder); }));
}

// An acknowledged question would be lost with the database.
TEST_F(RunSocket, questions_are_refused_while_database_files_are_missing) {
  const std::string id = begin("live",
                               "echo up; while [ ! -e go ]; do sleep 0.05; done\n"
                               "post approvals '{\"question\":\"Deploy?\"}'");
  wait_for_output(id, "up");
  fs::remove(state() / "reeve.db-wal");
  scratch().write("project/go", "");
  finish(id);
  EXPECT_THAT(logs(id), HasSubstr("store.files_removed"));
  EXPECT_EQ(reeve({"approvals", "--all"}).out, "");
}

// A socket address is limited to 107 bytes.
TEST_F(RunSocket, long_state_folder_gets_a_short_socket_path) {
  const std::string deep = (scratch().path() / std::string(100, 'd')).string();
  const Outcome outcome = reeve({"run", "--state", deep, "--", "/bin/sh", "-c",
                                 ". ./functions; at run; echo; echo $REEVE_SOCKET; stat -c %a ${REEVE_SOCKET%/*}"});
  EXPECT_THAT(outcome.out, HasSubstr("\"tool_run_id\":\"TR-1\"")) << outcome.err;
  const auto lines = testing::lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_LT(lines[1].size(), 108U);
  EXPECT_EQ(lines[2], "700");
  EXPECT_EQ(reeve({"stop", "--state", deep}).code, 0);
  EXPECT_FALSE(fs::exists(fs::path(lines[1]).parent_path().parent_path()));
}

}  // namespace
}  // namespace reeve
