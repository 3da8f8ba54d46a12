#include "tests/support/approval_flow.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/socket.h"

// The life of a question in a run: asked, answered, used (SPEC §2, RUN-6, RUN-8). A file that the tools append to
// records what really ran.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class ApprovalFlow : public testing::ApprovalFlowTest {};

// APR-1, APR-5, RUN-8: both spellings of keys, on either stream; the same run continues as its next attempt.
TEST_F(ApprovalFlow, approval_restarts_the_run_with_the_decision) {
  struct Case {
    const char* line;
    const char* redirect;
  };
  const Case cases[] = {
      {R"({"event":"approval_needed","question":"Ship?","options":[{"value":"all of it","label":"A"},{"value":"no","label":"N"}],"approval_id":"deploy-1","expires_in_seconds":600})",
       ""},
      {R"({"event":"approval_needed","question":"Ship?","options":[{"value":"all of it","label":"A"},{"value":"no","label":"N"}],"approvalId":"deploy-1","expiresInSeconds":600})",
       ">&2"},
  };
  configure(
      fmt::format("tools:\n  deploy: {{command: [sh, {}], resume_args: ['--decision={{value}}', '{{comment}}', "
                  "'{{approval_id}}', last]}}\n",
                  script("deploy.sh",
                         "if [ -n \"$REEVE_APPROVAL_ID\" ]; then\n"
                         "  echo \"auto=$AUTO_APPROVAL id=$REEVE_APPROVAL_ID attempt=$REEVE_ATTEMPT\"\n"
                         "  echo \"decisions=$REEVE_DECISIONS\"\n"
                         "  for word; do echo \"word=$word\"; done\n"
                         "  exit 0\n"
                         "fi\n"
                         "if [ $2 = out ]; then cat \"$1\"; else cat \"$1\" >&2; fi; exit 90\n")));
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    const std::string file = scratch().write("line", one.line + std::string("\n"));
    const std::string run = start_tool("deploy", {file, *one.redirect != '\0' ? "err" : "out"});
    wait_for_status(run, "waiting_approval");
    const std::string id = question_of(run);
    const Members asked = show(id);
    EXPECT_EQ(asked.at("question"), "Ship?");
    EXPECT_EQ(asked.at("tool_ref"), "deploy-1");
    EXPECT_NE(asked.at("expires_at"), "null");
    EXPECT_EQ(show(run)["outcome"], "asked");
    ASSERT_EQ(reeve({"approve", "--yes", id, "--comment", "by all means; $HOME *"}).code, 0);
    const Members over = finish(run);
    ASSERT_EQ(over.at("status"), "completed");
    EXPECT_EQ(over.at("attempt"), "2");
    const std::string said = logs(run);
    EXPECT_THAT(said, HasSubstr(fmt::format("auto=all of it id={} attempt=2\n", id)));
    EXPECT_THAT(said, HasSubstr(fmt::format(R"("deploy-1":{{"approval_id":"{}","status":"approved",)"
                                            R"("chosen_value":"all of it","comment":"by all means; $HOME *"}}}})",
                                            id)));
    // Each value is one argument, whatever it contains.
    EXPECT_THAT(said, HasSubstr("word=--decision=all of it\nword=by all means; $HOME *\nword=" + id + "\nword=last\n"));
    EXPECT_EQ(show(id)["use"], "used");
  }
}

// APR-8
TEST_F(ApprovalFlow, rejection_fails_the_run_with_who_and_why) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"reject", question_of(run), "--comment", "not today"}).code, 0);
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "failed");
  EXPECT_THAT(over.at("reason"), AllOf(::testing::StartsWith("rejected by "), ::testing::EndsWith(": not today")));
  EXPECT_EQ(over.at("outcome"), "denied");
  EXPECT_EQ(over.at("attempt"), "1");
  EXPECT_EQ(effects().size(), 0U);
}

// APR-4, UX: one reminder at half of its time, then it expires without a decision.
TEST_F(ApprovalFlow, unanswered_question_gets_one_reminder_and_expires) {
  const std::string run = start_script(asks_then("effect", R"(,"expires_in_seconds":2)"));
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "failed");
  EXPECT_EQ(over.at("reason"), "approval expired");
  const std::string id = question_of(run);
  EXPECT_EQ(show(id)["status"], "expired");
  EXPECT_EQ(show(id)["decided_by"], "null");
  int told = 0;
  int reminded = 0;
  ASSERT_TRUE(testing::eventually([&] {
    told = reminded = 0;
    for (Members& line : combined_log()) {
      if (line["event"] == "approval_needed") ++(line["reminder"] == "true" ? reminded : told);
    }
    return reminded > 0;
  }));
  EXPECT_EQ(told, 1);
  EXPECT_EQ(reminded, 1);
  EXPECT_EQ(effects().size(), 0U);
}

// RUN-6
TEST_F(ApprovalFlow, exit_90_without_a_question_asks_a_generic_one) {
  const std::string run = start_script(R"(if [ -n "$REEVE_APPROVAL_ID" ]; then exit 0; fi; exit 90)");
  wait_for_status(run, "waiting_approval");
  const Members asked = show(question_of(run));
  EXPECT_EQ(asked.at("question"), "sh asks to continue");
  EXPECT_EQ(asked.at("default_value"), "reject");
  ASSERT_EQ(reeve({"approve", "--yes", asked.at("approval_id")}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
}

TEST_F(ApprovalFlow, exit_0_with_an_open_question_counts_as_90) {
  const std::string run =
      start_script(R"(if [ -n "$REEVE_APPROVAL_ID" ]; then exit 0; fi; )" + ask_line() + "; exit 0");
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(show(run)["attempt"], "2");
}

// §9: the tool asks and exits while the run keeps waiting: the status change is reported once.
TEST_F(ApprovalFlow, waiting_status_is_reported_once) {
  const std::string run = start_script(asks_then("effect"));
  // The tool has exited and the run still waits.
  EXPECT_TRUE(testing::eventually([&] { return show(run)["exit_code"] == "90"; }));
  ASSERT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  const std::string events = reeve({"events", "--since", "0"}).out;
  EXPECT_EQ(testing::count_of(events, "\t" + run + "\twaiting_approval\t"), 1) << events;
}

TEST_F(ApprovalFlow, other_exit_codes_expire_the_question) {
  for (const char* end : {"exit 3", "kill -9 $$"}) {
    const std::string run = start_script(ask_line() + "; " + end);
    EXPECT_EQ(finish(run).at("status"), "failed");
    const std::string id = question_of(run);
    EXPECT_EQ(show(id)["status"], "expired");
    EXPECT_EQ(reeve({"approve", "--yes", id}).code, 4);
    EXPECT_EQ(show(run)["attempt"], "1");
  }
}

// APR-5: answered before the tool has exited.
TEST_F(ApprovalFlow, answer_before_the_exit_is_not_asked_again) {
  struct Case {
    const char* word;
    const char* code;
    const char* status;
    const char* attempt;
    const char* use;
  };
  const Case cases[] = {{"approve", "90", "completed", "2", "used"},
                        {"approve", "0", "completed", "2", "used"},
                        {"approve", "3", "failed", "1", "void"},
                        {"reject", "90", "failed", "1", "unused"},
                        {"reject", "0", "failed", "1", "unused"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(fmt::format("{} {}", one.word, one.code));
    Gate gate(scratch().path() / "gate");
    const std::string run =
        start_script(fmt::format(R"(if [ -n "$REEVE_APPROVAL_ID" ]; then exit 0; fi; {}; read x <'{}'; exit {})",
                                 ask_line(), gate.path(), one.code));
    wait_for_status(run, "waiting_approval");
    const std::string id = question_of(run);
    ASSERT_EQ(reeve(testing::decision(one.word, id)).code, 0);
    EXPECT_EQ(show(run)["status"], "running");
    gate.open();
    const Members over = finish(run);
    ASSERT_EQ(over.at("status"), one.status);
    EXPECT_EQ(over.at("attempt"), one.attempt);
    EXPECT_EQ(show(id)["use"], one.use);
    EXPECT_EQ(question_count(run), 1);
    if (one.status == std::string("failed") && one.word == std::string("reject")) {
      EXPECT_THAT(over.at("reason"), HasSubstr("rejected by "));
    }
  }
}

// SPEC §7: a rejected or expired run no longer waits.
TEST_F(ApprovalFlow, followed_run_exits_with_1_after_a_rejection) {
  const auto followed = start({"run", "--", "sh", "-c", ask_line() + "; exit 90"});
  wait_for_status("TR-1", "waiting_approval");
  ASSERT_EQ(reeve({"reject", question_of("TR-1")}).code, 0);
  EXPECT_EQ(followed->wait(), 1);
}

// RUN-3: this includes the second question and a daemon restart.
TEST_F(ApprovalFlow, timeout_is_paused_at_every_question_and_across_restarts) {
  Gate gate(scratch().path() / "gate");
  Gate last(scratch().path() / "last");
  configure(
      fmt::format("tools:\n  staying: {{command: [sh, {}], resume: live, timeout: 3s}}\n",
                  script("stay.sh", fmt::format("{0}; read x <'{1}'; {0}\n"
                                                "(while :; do echo '{{\"event\":\"heartbeat\"}}'; sleep 0.2; done) &\n"
                                                "read x <'{2}'; exit 0",
                                                ask_line(), gate.path(), last.path()))));
  const std::string run = start_tool("staying");
  wait_for_status(run, "waiting_approval");
  const std::string first = question_of(run);
  ASSERT_EQ(reeve({"approve", "--yes", first}).code, 0);
  gate.open();
  ASSERT_TRUE(testing::eventually([&] { return question_of(run) != first; }));
  // Takes longer than the whole timeout; what the tool prints is stored meanwhile.
  EXPECT_EQ(testing::DaemonTest::run({"--timeout", "off"}, {"silent", "4"}).code, 0);
  kill_daemon();
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  ASSERT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  EXPECT_EQ(show(run)["status"], "running");
  last.open();
  EXPECT_EQ(finish(run).at("status"), "completed");
}

// APR-9: one question at a time; the others are refused and recorded, and a flood of them does no harm.
TEST_F(ApprovalFlow, repeated_questions_create_one_approval) {
  const std::string line = R"({"event":"approval_needed","question":"Now?"})";
  const std::string run = start_script(
      fmt::format(R"(if [ -n "$REEVE_APPROVAL_ID" ]; then exit 0; fi; yes '{}' | head -n 10000; exit 90)", line));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(testing::DaemonTest::run({}, {"exit", "0"}).code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, testing::timeout);
  wait_for_status(run, "waiting_approval");
  ASSERT_TRUE(testing::eventually([&] { return show(run)["exit_code"] == "90"; }));
  EXPECT_EQ(question_count(run), 1);
  const std::string refused = sql("SELECT count(*) FROM audit_log WHERE kind = 'question_refused'");
  EXPECT_GE(std::stoi(refused), 1);
  EXPECT_LE(std::stoi(refused), 200);
  EXPECT_EQ(sql("SELECT sum(json_extract(data, '$.count')) FROM audit_log WHERE kind = 'question_refused'"), "9999");
  EXPECT_EQ(sql("SELECT count(*) FROM events WHERE kind = 'policy_denied'"), "0");
  ASSERT_EQ(reeve({"approve", "--yes", question_of(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(show(run)["attempt"], "2");
}

// APR-5, RUN-3, RUN-5: neither timeout runs while a question is open.
TEST_F(ApprovalFlow, live_tool_waits_without_using_its_timeout) {
  Gate gate(scratch().path() / "gate");
  configure(
      fmt::format("tools:\n  staying: {{command: [sh, {}], resume: live, timeout: 3s, no_output_timeout: 1s, "
                  "on_stall: kill, liveness: output}}\n",
                  script("stay.sh", fmt::format("{}; read x <'{}'; exit 0", ask_line(), gate.path()))));
  const std::string run = start_tool("staying");
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  EXPECT_EQ(show(id)["delivery"], "live");
  // Takes longer than the whole timeout.
  EXPECT_EQ(testing::DaemonTest::run({"--timeout", "off"}, {"silent", "4"}).code, 0);
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  EXPECT_EQ(show(run)["status"], "running");
  EXPECT_EQ(show(id)["use"], "used");
  gate.open();
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "1");
  EXPECT_THAT(statuses_of(run),
              ::testing::ElementsAre("queued", "running", "waiting_approval", "running", "completed"));
}

// RUN-3: the remaining time counts from the answer on.
TEST_F(ApprovalFlow, timeout_resumes_after_the_answer) {
  Gate gate(scratch().path() / "gate");
  configure(fmt::format("tools:\n  staying: {{command: [sh, {}], resume: live, timeout: 2s}}\n",
                        script("stay.sh", fmt::format("{}; read x <'{}'", ask_line(), gate.path()))));
  const std::string run = start_tool("staying");
  wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"reject", question_of(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "failed_timeout");
}

// APR-8: a live tool whose question expires is ended.
TEST_F(ApprovalFlow, live_tool_is_ended_when_its_question_expires) {
  Gate gate(scratch().path() / "gate");
  configure(fmt::format(
      "tools:\n  staying: {{command: [sh, {}], resume: live}}\n",
      script("stay.sh", fmt::format("{}; read x <'{}'", ask_line(R"(,"expires_in_seconds":1)"), gate.path()))));
  const std::string run = start_tool("staying");
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "failed");
  EXPECT_EQ(over.at("reason"), "approval expired");
  EXPECT_TRUE(tools().empty());
}

// APR-6: the contract of the earlier programs.
TEST_F(ApprovalFlow, a_plain_update_decides) {
  for (const char* when : {"strftime('%Y-%m-%dT%H:%M:%fZ', 'now')", "CURRENT_TIMESTAMP", "NULL"}) {
    SCOPED_TRACE(when);
    const std::string run = start_script(asks_then("effect"));
    wait_for_status(run, "waiting_approval");
    const std::string id = question_of(run);
    sql(
        fmt::format("UPDATE approvals SET status='approved', chosen_value='approve', decided_at={} "
                    "WHERE approval_id='{}' AND status='pending'",
                    when, id));
    EXPECT_EQ(finish(run).at("status"), "completed");
    EXPECT_EQ(sql(fmt::format("SELECT actor FROM audit_log WHERE kind='approval_granted' AND "
                              "json_extract(data, '$.approval_id') = '{}'",
                              id)),
              "outside");
    EXPECT_EQ(reeve({"approvals", "--all"}).code, 0);
  }
  EXPECT_EQ(effects().size(), 3U);
}

// LOG-1: events that happened without a daemon are logged once, and so are those the next daemon generates at its
// start.
TEST_F(ApprovalFlow, plain_update_without_a_daemon_logs_each_event_once) {
  constexpr int count = 5;
  std::vector<std::string> runs;
  for (int i = 0; i < count; ++i) runs.push_back(start_script(asks_then("effect")));
  for (const std::string& run : runs) wait_for_status(run, "waiting_approval");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  sql("UPDATE approvals SET status='approved' WHERE status='pending'");
  for (const std::string& run : runs) EXPECT_EQ(finish(run).at("status"), "completed");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  std::map<std::string, int> seen;
  for (Members& line : combined_log()) {
    if (line.contains("seq")) ++seen[line["seq"]];
  }
  EXPECT_EQ(std::to_string(seen.size()), sql("SELECT count(*) FROM events"));
  for (const auto& [seq, times] : seen) EXPECT_EQ(times, 1) << "event " << seq;
}

// Waiters are answered at once, not at their timeout.
TEST_F(ApprovalFlow, every_way_to_close_a_question_wakes_its_waiters) {
  const auto begin_wait = [&](const std::string& id) {
    auto peer = std::make_unique<testing::RawSocket>(socket());
    EXPECT_TRUE(peer->send(testing::make_request("GET", "/api/approvals/" + id + "/wait?timeout=120s", "")));
    // A later request is answered after the wait has been registered.
    EXPECT_EQ(show(id)["status"], "pending");
    return peer;
  };
  const std::string left = start_script(asks_then("effect"));
  wait_for_status(left, "waiting_approval");
  const auto of_left = begin_wait(question_of(left));
  EXPECT_EQ(reeve({"cancel", left}).code, 0);
  EXPECT_THAT(of_left->read_answer(), HasSubstr(R"("status":"expired")"));
  const std::string typed = start_command({"bash", "-c", R"(read -p "Go on? [y/N] " a)"}, {"--pty"});
  wait_for_status(typed, "waiting_approval");
  const auto of_typed = begin_wait(question_of(typed));
  EXPECT_THAT(request("POST", "/api/runs/" + typed + "/input", R"({"text":"y\r"})"), HasSubstr("200"));
  EXPECT_THAT(of_typed->read_answer(), HasSubstr(R"("status":"expired")"));
  EXPECT_EQ(finish(typed).at("status"), "completed");
}

TEST_F(ApprovalFlow, invalid_plain_update_is_ignored) {
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const std::string id = question_of(run);
  for (const char* wrong : {"status='approved', chosen_value='perhaps'", "status='approved', chosen_value='reject'",
                            "status='rejected', chosen_value='approve'",
                            "status='approved', chosen_value='approve', decided_at='2100-01-01T00:00:00.000Z'"}) {
    SCOPED_TRACE(wrong);
    const std::string before = sql("SELECT count(*) FROM audit_log WHERE kind='outside_update_voided'");
    sql(fmt::format("UPDATE approvals SET {} WHERE approval_id='{}' AND status='pending'", wrong, id));
    EXPECT_TRUE(testing::eventually(
        [&] { return sql("SELECT count(*) FROM audit_log WHERE kind='outside_update_voided'") != before; }));
    EXPECT_EQ(show(id)["status"], "pending");
    EXPECT_EQ(show(run)["status"], "waiting_approval");
  }
  EXPECT_EQ(effects().size(), 0U);
  EXPECT_EQ(sql_error(fmt::format("UPDATE approvals SET status='granted' WHERE approval_id='{}'", id)), true);
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_EQ(effects().size(), 1U);
}

}  // namespace
}  // namespace reeve
