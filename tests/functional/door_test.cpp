#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// The socket of each run (RUN-8, APR-5 `live`): its tool asks, reports and reads, and nothing else.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class Door : public testing::DaemonTest {
 protected:
  Door() {
    configure(
        "tools:\n"
        "  live: {command: [/bin/sh, -c], resume: live}\n"
        "  kept: {command: [/bin/sh, -c], resume: live, sandbox: guard}\n");
    // `at PATH`: what the socket says there; `post PATH JSON`.
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
    EXPECT_EQ(reeve({"approve", "AP-1", "--comment", "go on"}).code, 0);
    Members run = finish(id);
    EXPECT_EQ(run["status"], "completed");
    EXPECT_EQ(run["attempt"], "1");
    EXPECT_THAT(logs(id), HasSubstr("attempt 1\n"));
    EXPECT_THAT(logs(id), HasSubstr("\"deploy-1\":{"));
    EXPECT_THAT(logs(id), HasSubstr("go on"));
    EXPECT_THAT(testing::read_text(project() / "asked"), HasSubstr("\"approval_id\":\"AP-1\""));
  }
};

// APR-5: an answer that reached the tool while it lived is not a reason to start it again, whatever its profile says.
TEST_F(Door, a_tool_that_has_read_its_answer_is_not_started_again) {
  configure("tools:\n  plain: {command: [/bin/sh, -c]}\n");
  for (const char* word : {"approve", "reject"}) {
    const std::string run = begin("plain",
                                  "post approvals '{\"question\":\"Deploy?\",\"approval_id\":\"d\"}' > asked\n"
                                  "wait_for d\necho once >> effects");
    wait_for_status(run, "waiting_approval");
    const Outcome open = reeve({"approvals"});
    ASSERT_EQ(reeve({word, open.out.substr(0, open.out.find('\t'))}).code, 0);
    Members over = finish(run);
    EXPECT_EQ(over["status"], "completed") << word;
    EXPECT_EQ(over["attempt"], "1") << word;
  }
  EXPECT_EQ(testing::read_text(project() / "effects"), "once\nonce\n");
}

// APR-5: it stays, and goes on with the answer in the same attempt.
TEST_F(Door, a_tool_asks_waits_and_goes_on) { expect_live_answer("live"); }

// The one thing of Reeve that a sandbox shows.
TEST_F(Door, it_can_be_reached_from_a_sandbox) { expect_live_answer("kept"); }

// APR-9, told to the tool; and asked again after a lost connection it is the same question.
TEST_F(Door, one_question_at_a_time) {
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

// RUN-8: its own approvals, by Reeve's id or its own; those of others are not there.
TEST_F(Door, what_another_run_asked_is_out_of_sight) {
  const std::string first =
      begin("live", "post approvals '{\"question\":\"Mine?\",\"approval_id\":\"mine\"}'; wait_for mine");
  wait_for_status(first, "waiting_approval");
  const std::string seen = say("live",
                               "at approvals; echo; at approvals/AP-1; echo; at approvals/mine; echo\n"
                               "at approvals/AP-1/wait?timeout=10s");
  EXPECT_THAT(seen, HasSubstr("{\"items\":[]}"));
  EXPECT_EQ(testing::count_of(seen, "\"code\":\"approval.not_found\""), 3);
  EXPECT_THAT(seen, Not(HasSubstr("Mine?")));
  // Nor by its socket.
  const std::string door = (state() / "runs" / first / "door/sock").string();
  EXPECT_THAT(say("live", "REEVE_SOCKET=" + door + "; at approvals; at run"), Not(HasSubstr("Mine?")));
  EXPECT_THAT(say("live", "REEVE_SOCKET=" + door + "; at approvals"), HasSubstr("api.not_from_a_run"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  finish(first);
}

// APR-11
TEST_F(Door, a_decision_there_is_refused_and_reported) {
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

// RUN-8: nothing else.
TEST_F(Door, everything_else_is_refused) {
  const std::string said =
      say("live",
          "at runs; at events; at log; at healthz; at approvals/; post runs '{\"argv\":[\"true\"]}'\n"
          "post daemon/stop '{}'; post runs/TR-1/cancel '{}'; curl -s --unix-socket $REEVE_SOCKET http://x/healthz");
  EXPECT_EQ(testing::count_of(said, "\"code\":\"api.not_from_a_run\""), 8) << said;
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// As if it had printed it.
TEST_F(Door, a_tool_reports_there) {
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

// APR-13: the next daemon opens the same door.
TEST_F(Door, it_outlives_the_daemon) {
  const std::string id = begin("live",
                               "post approvals '{\"question\":\"Go?\",\"approval_id\":\"a\"}' > /dev/null\n"
                               "echo asked; wait_for a; echo answered");
  wait_for_output(id, "asked");
  EXPECT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(reeve({"approve", "AP-1"}).code, 0);
  Members run = finish(id);
  EXPECT_EQ(run["status"], "completed");
  EXPECT_EQ(run["attempt"], "1");
  EXPECT_THAT(logs(id), HasSubstr("answered"));
}

// For its owner alone, and gone with the run.
TEST_F(Door, it_is_private_and_gone_at_the_end) {
  const std::string id = begin("live", "echo up; cat functions > /dev/null; while ! [ -e stop ]; do sleep 0.05; done");
  wait_for_output(id, "up");
  const fs::path folder = state() / "runs" / id / "door";
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_socket(folder / "sock"));
  scratch().write("project/stop", "");
  finish(id);
  EXPECT_TRUE(testing::eventually([&] { return !fs::exists(folder); }));
}

// A socket's name ends at 107 bytes.
TEST_F(Door, a_long_state_folder_has_a_short_door) {
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
