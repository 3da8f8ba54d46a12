#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/socket.h"

// Deciding from the command line (SPEC §2, §7, UX).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::lines_of;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using ::testing::StartsWith;
using testing::Variables;
using testing::Words;

class ApprovalsCli : public testing::ApprovalsTest {
 protected:
  std::unique_ptr<Session> at_terminal(const Words& words, Variables more = {}) const {
    more.emplace_back("NO_COLOR", "1");
    return start(words, Session::Ends::terminal, more);
  }
};

constexpr const char* three_ways =
    R"("question":"Where to?","options":[{"value":"staging","label":"Only staging"},{"value":"everywhere","label":"All of it"},{"value":"no","label":"Nowhere"}],"default":"no","approval_id":"deploy-1")";

// APR-1, APR-5: the question is listed, shown and answered, and the tool continues with the answer.
TEST_F(ApprovalsCli, answered_question_lets_the_tool_continue) {
  EXPECT_EQ(reeve({"approvals"}).out, "");
  const std::string id = ask();
  EXPECT_EQ(id, "AP-1");
  const Outcome listed = reeve({"approvals"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.out, StartsWith("AP-1\tpending\tsh TR-1\tGo on?\tapprove"));
  EXPECT_EQ(testing::count_of(listed.out, "\t"), 10);
  EXPECT_EQ(reeve({"approvals", "list"}).out, listed.out);
  const Outcome approved = reeve({"approve", "--yes", "ap-1", "--comment", "ship it"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  // UX: a decision repeats the question, the project and the run.
  EXPECT_EQ(approved.out, "AP-1\tapproved\tapprove\tGo on?\t" + project().string() + "\tTR-1\n");
  EXPECT_EQ(finish("TR-1")["status"], "completed");
  EXPECT_EQ(show("TR-1")["attempt"], "2");
  EXPECT_THAT(logs("TR-1"), HasSubstr("got approve"));
  EXPECT_EQ(reeve({"approvals"}).out, "");
  EXPECT_THAT(reeve({"approvals", "--all"}).out, StartsWith("AP-1\tapproved"));
  EXPECT_THAT(reeve({"approvals", "--status", "approved"}).out, StartsWith("AP-1\tapproved"));
  EXPECT_EQ(reeve({"approvals", "--status", "rejected"}).out, "");
}

// APR-2: the first decision counts; the second is refused and names the first.
TEST_F(ApprovalsCli, second_answer_is_refused_and_names_the_first) {
  const std::string id = ask();
  EXPECT_EQ(reeve({"approve", "--yes", id, "--comment", "ship it"}).code, 0);
  for (const char* word : {"approve", "reject", "deny"}) {
    const Outcome again = reeve({word, id});
    EXPECT_EQ(again.code, 4);
    EXPECT_EQ(again.out, "");
    EXPECT_THAT(again.err, AllOf(StartsWith("✗ AP-1 was already approved by "), HasSubstr("ship it"),
                                 HasSubstr("Nothing changed.")));
  }
  const Outcome json = reeve({"reject", id, "--json"});
  EXPECT_EQ(json.code, 4);
  EXPECT_EQ((*testing::parse_object(json.out))["code"], "approval.already_resolved");
  Members record = show(id);
  EXPECT_EQ(record["status"], "approved");
  EXPECT_EQ(record["comment"], "ship it");
  finish("TR-1");
}

// APR-8
TEST_F(ApprovalsCli, reject_has_three_aliases) {
  ask();
  ask();
  ask();
  EXPECT_THAT(reeve({"reject", "AP-1", "--comment", "not on a Friday"}).out, StartsWith("AP-1\trejected\treject\t"));
  EXPECT_EQ(reeve({"deny", "AP-2"}).code, 0);
  EXPECT_EQ(reeve({"approvals", "deny", "AP-3"}).code, 0);
  EXPECT_EQ(reeve({"approvals", "--status", "pending"}).out, "");
  const Members run = finish("TR-1");
  EXPECT_EQ(run.at("status"), "failed");
  EXPECT_THAT(run.at("reason"), HasSubstr("not on a Friday"));
  EXPECT_EQ(testing::count_of(reeve({"approvals", "--all"}).out, "rejected"), 3);
}

// APR-3: the option is never guessed.
TEST_F(ApprovalsCli, approve_needs_a_choice_among_several_options) {
  const std::string id = ask(three_ways);
  const Outcome unsaid = reeve({"approve", "--yes", id});
  EXPECT_EQ(unsaid.code, 2);
  EXPECT_THAT(unsaid.err, AllOf(HasSubstr("approval.choice_needed"), HasSubstr("staging"), HasSubstr("everywhere")));
  const Outcome unknown = reeve({"approve", "--yes", id, "--choice", "mars"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("approval.unknown_choice"), HasSubstr("staging")));
  const Outcome opposite = reeve({"approve", "--yes", id, "--choice", "no"});
  EXPECT_EQ(opposite.code, 2);
  EXPECT_THAT(opposite.err, AllOf(HasSubstr("approval.contradiction"), HasSubstr("reeve reject AP-1")));
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_THAT(reeve({"approvals", "approve", "--yes", id, "--choice", "staging"}).out,
              StartsWith("AP-1\tapproved\tstaging\t"));
  finish("TR-1");
  EXPECT_THAT(logs("TR-1"), HasSubstr("got staging"));
}

// LOG-3: invisible characters are made visible wherever a decision is made.
TEST_F(ApprovalsCli, invisible_characters_are_escaped) {
  const std::string id = ask(
      R"("question":"Delete \u200bnothing\u00ad?\udb40\udc59","options":[{"value":"y\u2060es","label":"Ye\u3164s"},{"value":"all"},{"value":"no"}])");
  const std::vector<std::string> screens = {reeve({"approvals"}).out,
                                            reeve({"show", id}).out,
                                            reeve({}).out,
                                            reeve({"show", id, "--json"}).out,
                                            reeve({"approve", "--yes", id}).err,
                                            reeve({"approve", "--yes", id, "--choice", "yes"}).err};
  for (const std::string& screen : screens) {
    for (const char* hidden : {"\u200B", "\u00AD", "\u2060", "\u3164", "\U000E0059"}) {
      EXPECT_THAT(screen, Not(HasSubstr(hidden)));
    }
  }
  EXPECT_THAT(screens[0], HasSubstr(R"(Delete \u200bnothing\u00ad?\u{e0059})"));
  EXPECT_THAT(screens[1], AllOf(HasSubstr(R"(Delete \u200bnothing\u00ad?\u{e0059})"), HasSubstr(R"(y\u2060es)"),
                                HasSubstr(R"(Ye\u3164s)")));
  EXPECT_THAT(screens[5], AllOf(HasSubstr("approval.unknown_choice"), HasSubstr(R"(y\u2060es)")));
  const auto asked = at_terminal({"approve", id});
  ASSERT_TRUE(asked->wait_for(R"(y\u2060es)"));
  EXPECT_EQ(asked->out().find("\u2060"), std::string::npos);
  asked->type("\r");
  EXPECT_EQ(asked->wait(), 130);
  EXPECT_EQ(reeve({"reject", id}).code, 0);
}

// UX: at a terminal the options are numbered.
TEST_F(ApprovalsCli, at_a_terminal_it_asks_which) {
  const std::string id = ask(three_ways);
  {
    const auto left = at_terminal({"approve", id});
    ASSERT_TRUE(left->wait_for("Choose 1"));
    left->type("\r");
    EXPECT_EQ(left->wait(), 130) << left->out();
    EXPECT_EQ(show(id)["status"], "pending");
  }
  const auto asked = at_terminal({"approve", id});
  ASSERT_TRUE(asked->wait_for("Where to?"));
  ASSERT_TRUE(asked->wait_for("Choose 1"));
  EXPECT_THAT(asked->out(), AllOf(HasSubstr("staging"), HasSubstr("Only staging"), Not(HasSubstr("Nowhere"))));
  asked->type("7\r");
  ASSERT_TRUE(asked->wait_for("`7` is not one of the options"));
  ASSERT_TRUE(asked->wait_for("Choose 1"));
  asked->type("2\r");
  ASSERT_TRUE(asked->wait_for("Approve AP-1 with `everywhere` (All of it)? [y/N] "));
  asked->type("y\r");
  EXPECT_EQ(asked->wait(), 0) << asked->out();
  EXPECT_THAT(asked->out(), HasSubstr("✓ AP-1 approved: everywhere"));
  EXPECT_EQ(show(id)["chosen_value"], "everywhere");
  finish("TR-1");
}

TEST_F(ApprovalsCli, no_prompt_in_ci_or_with_no_input) {
  const std::string id = ask(three_ways);
  for (const char* variable : {"CI", "REEVE_NO_INPUT"}) {
    const auto session = at_terminal({"approve", id}, {{variable, "1"}});
    EXPECT_EQ(session->wait(), 2) << session->out();
  }
  EXPECT_EQ(reeve({"reject", id}).code, 0);
}

// UX: a secret is never a command-line argument, and is not echoed (RUN-10).
TEST_F(ApprovalsCli, secret_is_read_only_from_the_terminal_or_stdin) {
  reeve({"runs"});
  const auto add = [&] {
    sql("INSERT INTO approvals (kind, question, options_json, status, created_at, delivery, secret) VALUES ('question',"
        "'Password for ana:', '[{\"value\":\"answer\",\"label\":\"\"},{\"value\":\"reject\",\"label\":\"\"}]',"
        "'pending', '2026-01-01T00:00:00.000Z', 'terminal', 1)");
  };
  add();
  const Outcome piped = reeve({"approve", "--yes", "AP-1"});
  EXPECT_EQ(piped.code, 2);
  EXPECT_THAT(piped.err, AllOf(HasSubstr("approval.secret_needed"), HasSubstr("--secret-stdin")));
  {
    const auto left = at_terminal({"approve", "AP-1"});
    ASSERT_TRUE(left->wait_for("[y/N] "));
    left->type("y\r");
    ASSERT_TRUE(left->wait_for("Secret for AP-1: "));
    left->type("abc\x03");
    EXPECT_EQ(left->wait(), 130) << left->out();
  }
  EXPECT_EQ(show("AP-1")["status"], "pending");
  const auto asked = at_terminal({"approve", "AP-1"});
  ASSERT_TRUE(asked->wait_for("Password for ana:"));
  ASSERT_TRUE(asked->wait_for("[y/N] "));
  asked->type("y\r");
  ASSERT_TRUE(asked->wait_for("Secret for AP-1: "));
  asked->type(
      "wrong\x15hunter3\x7f"
      "2\r");
  EXPECT_EQ(asked->wait(), 0) << asked->out();
  EXPECT_THAT(asked->out(), Not(HasSubstr("hunter")));
  EXPECT_EQ(show("AP-1")["status"], "approved");
  add();
  testing::Launch launch = this->launch({"approve", "--yes", "AP-2", "--secret-stdin"});
  launch.input = "hunter2\n";
  EXPECT_EQ(testing::run_program(launch).code, 0);
  launch = this->launch({"approve", "--yes", "AP-2", "--secret-stdin"});
  launch.input = std::string(5'000, 'x');
  EXPECT_EQ(testing::run_program(launch).code, 2);
  for (const char* table : {"approvals", "audit_log", "events", "idempotency_keys"}) {
    EXPECT_THAT(sql(std::string("SELECT * FROM ") + table), Not(HasSubstr("hunter"))) << table;
  }
}

TEST_F(ApprovalsCli, deciding_several_reports_each_result) {
  ask();
  ask();
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  const Outcome both = reeve({"approve", "--yes", "AP-1", "AP-2"});
  EXPECT_EQ(both.code, 4);
  EXPECT_THAT(both.out, StartsWith("AP-2\tapproved\tapprove\t"));
  EXPECT_THAT(both.err, HasSubstr("AP-1 was already rejected"));
  const Outcome json = reeve({"approve", "--yes", "AP-1", "AP-2", "--json"});
  EXPECT_EQ(json.code, 4);
  EXPECT_THAT(json.out, StartsWith("[{"));
  EXPECT_EQ(testing::count_of(json.out, "\"approval.already_resolved\""), 2);
  finish("TR-2");
}

// UX: "did you mean" for ids.
TEST_F(ApprovalsCli, invalid_ids_get_specific_errors) {
  ask();
  struct Case {
    Words words;
    int code;
    std::string text;
  };
  const std::vector<Case> cases = {
      {{"approve", "AP-9"}, 3, "there is no approval AP-9"},
      {{"approve", "AP-9"}, 3, "`reeve approvals` lists what waits"},
      {{"approve", "1"}, 2, "did you mean `AP-1`?"},
      {{"approve", "ap1"}, 2, "did you mean `AP-1`?"},
      {{"approve", "TR-1"}, 2, "its pending question is AP-1"},
      {{"approve", "nonsense"}, 2, "ids look like AP-4"},
      {{"approve"}, 2, "ID"},
      {{"approve", "AP-0"}, 2, "is not a valid approval id"},
      {{"approve", "\x1b[2J"}, 2, "\\x1b[2J"},
      {{"reject", "AP-7"}, 3, "there is no approval AP-7"},
      {{"show", "AP-7"}, 3, "there is no approval AP-7"},
      {{"approvals", "wait", "AP-7"}, 3, "there is no approval AP-7"},
      {{"approvals", "lst"}, 2, "did you mean `reeve approvals list`?"},
      {{"approvals", "--limit", "0"}, 2, "--limit must be 1 to 10000"},
      {{"approvals", "--status", "aproved"}, 2, "did you mean `approved`?"},
      {{"approvals", "wait", "AP-1", "--timeout", "soon"}, 2, "`soon` is not a valid value"},
      {{"logs", "AP-1"}, 3, "`AP-1` is not a run"},
  };
  for (const Case& wrong : cases) {
    const Outcome outcome = reeve(wrong.words);
    EXPECT_EQ(outcome.code, wrong.code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(wrong.text));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_THAT(reeve({"reject", "@last"}).out, StartsWith("AP-1\trejected\treject\t"));
}

TEST_F(ApprovalsCli, run_that_does_not_wait_names_its_question) {
  const Outcome asked = reeve({"run", "--no-wait", "--", "sh", "-c", "exit 90"});
  EXPECT_EQ(asked.code, 90) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("next: reeve show AP-1"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// SPEC §7: every field, with the command that would run.
TEST_F(ApprovalsCli, show_includes_the_command_that_would_run) {
  const std::string id = ask(three_ways);
  const Outcome piped = reeve({"show", id});
  EXPECT_EQ(piped.code, 0);
  EXPECT_THAT(piped.out, AllOf(StartsWith("approval_id\tAP-1\nstatus\tpending\n"), HasSubstr("\nquestion\tWhere to?\n"),
                               HasSubstr("would run\tsh -c '"), HasSubstr("cwd\t" + project().string()),
                               HasSubstr("\ndigest\t"), HasSubstr("\ntool_ref\tdeploy-1\n")));
  Members record = show(id);
  EXPECT_EQ(record["approval_id"], "AP-1");
  EXPECT_EQ(record["tool_run_id"], "TR-1");
  EXPECT_EQ(record["default_value"], "no");
  EXPECT_EQ(record["delivery"], "rerun");
  EXPECT_EQ(record["advisory"], "true");
  const auto session = at_terminal({"show", id});
  EXPECT_EQ(session->wait(), 0);
  EXPECT_THAT(session->out(), AllOf(HasSubstr("◆ pending"), HasSubstr("(default, rejects)"), HasSubstr("no sandbox"),
                                    HasSubstr("next: reeve approve AP-1")));
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  EXPECT_THAT(reeve({"show", id}).out, AllOf(HasSubstr("decided_by\t"), HasSubstr("chosen_value\tno")));
}

// UX: waiting approvals come first, and their runs are not listed again.
TEST_F(ApprovalsCli, overview_lists_waiting_approvals_first) {
  ask();
  run({}, {"exit", "2"});
  const auto session = at_terminal({});
  EXPECT_EQ(session->wait(), 0);
  EXPECT_THAT(session->out(),
              AllOf(HasSubstr("◆ 1 waiting for you   ✗ 1 failed"), HasSubstr("  AP-1  project  sh TR-1"),
                    HasSubstr("Go on?"), HasSubstr(", then rej"), HasSubstr("next: reeve show AP-1"),
                    HasSubstr("advisory: without a sandbox"), Not(HasSubstr("\n  TR-1"))));
  const std::vector<std::string> lines = lines_of(reeve({}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], StartsWith("AP-1\tpending\tsh TR-1\t"));
  EXPECT_THAT(lines[1], StartsWith("TR-2\tfailed\t"));
  Members document = testing::parse_object(reeve({"--json"}).out).value_or(Members());
  EXPECT_EQ(document["daemon"], "true");
  EXPECT_EQ(document["counts"],
            R"({"waiting_approval":1,"stalled":0,"failed":1,"paused":0,"running":0,"queued":0,"not_applied":0})");
  EXPECT_THAT(document["items"], AllOf(StartsWith(R"([{"approval_id":"AP-1")"), HasSubstr(R"("tool_run_id":"TR-2")")));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// SPEC §7: the overview shows what is stored, also on the morning after a reboot, when no daemon runs.
TEST_F(ApprovalsCli, overview_without_a_daemon_shows_what_waits) {
  ask();
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_THAT(reeve({}).out, StartsWith("AP-1\tpending\tsh TR-1\t"));
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_THAT(reeve({"--json"}).out, HasSubstr(R"("waiting_approval":1)"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// DESIGN §1: inside a run no daemon is started, and the overview does not pretend that nothing waits.
TEST_F(ApprovalsCli, overview_inside_a_run_without_a_daemon_fails) {
  ask();
  ASSERT_EQ(reeve({"stop"}).code, 0);
  const Outcome outcome = reeve({}, {{"REEVE_RUN_ID", "TR-1"}});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("clients inside a run do not start one"));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

TEST_F(ApprovalsCli, terminal_listing_shows_expiry_and_the_next_command) {
  ask(R"("question":"Go on?","expires_in_seconds":3600)");
  const auto session = at_terminal({"approvals"});
  EXPECT_EQ(session->wait(), 0);
  EXPECT_THAT(session->out(),
              AllOf(HasSubstr("QUESTION"), HasSubstr("◆ pending"), HasSubstr("until "), HasSubstr(", then rej"),
                    HasSubstr("the tool could approve its own request"), HasSubstr("next: reeve show AP-1")));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  const auto empty = at_terminal({"approvals"});
  EXPECT_EQ(empty->wait(), 0);
  EXPECT_THAT(empty->out(), HasSubstr("nothing is waiting for you"));
}

// APR-4: an expiry is not a rejection.
TEST_F(ApprovalsCli, late_answer_changes_nothing) {
  const std::string id = ask(R"("question":"Quick?","expires_in_seconds":1)");
  EXPECT_EQ(finish("TR-1")["status"], "failed");
  const Outcome late = reeve({"approve", "--yes", id});
  EXPECT_EQ(late.code, 4);
  EXPECT_THAT(late.err, HasSubstr("expired"));
  Members record = show(id);
  EXPECT_EQ(record["status"], "expired");
  EXPECT_EQ(record["decided_by"], "null");
  EXPECT_EQ(reeve({"approvals", "wait", id}).code, 1);
}

TEST_F(ApprovalsCli, wait_prints_the_answer) {
  const std::string id = ask(three_ways);
  EXPECT_EQ(reeve({"approvals", "wait", id, "--timeout", "50ms"}).code, 124);
  EXPECT_EQ(reeve({"approvals", "wait", id, "--timeout", "0"}).code, 124);
  const auto waiting = start({"approvals", "wait", id});
  EXPECT_EQ(reeve({"approve", "--yes", id, "--choice", "staging"}).code, 0);
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  EXPECT_EQ(waiting->out(), "staging\n");
  EXPECT_EQ(reeve({"approvals", "wait", id}).out, "staging\n");
  EXPECT_EQ((*testing::parse_object(reeve({"approvals", "wait", id, "--json"}).out))["chosen_value"], "staging");
  finish("TR-1");
  const std::string second = ask();
  const auto rejected = start({"approvals", "wait", second});
  EXPECT_EQ(reeve({"reject", second}).code, 0);
  EXPECT_EQ(rejected->wait(), 1);
  EXPECT_EQ(rejected->out(), "reject\n");
}

// RUN-8, APR-5: a tool waits on its own run socket, using its own name for the question.
TEST_F(ApprovalsCli, wait_inside_a_run_uses_the_run_socket) {
  const auto path = scratch().path() / "run.sock";
  const int listener = testing::listen_at(path);
  ASSERT_GE(listener, 0);
  const auto waiting = start({"approvals", "wait", "deploy 1/x"}, Session::Ends::pipes,
                             {{"REEVE_SOCKET", path.string()}, {"REEVE_RUN_ID", "TR-1"}});
  testing::RawSocket peer(listener);
  EXPECT_THAT(peer.read_until("\r\n\r\n"), StartsWith("GET /api/approvals/deploy%201%2Fx/wait?timeout="));
  const std::string record = R"({"approval_id":"AP-4","status":"approved","chosen_value":"staging"})";
  EXPECT_TRUE(peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(record.size()) + "\r\n\r\n" + record));
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  EXPECT_EQ(waiting->out(), "staging\n");
  ::close(listener);
  // No daemon is started when nothing listens.
  EXPECT_EQ(reeve({"approvals", "wait", "AP-4"}, {{"REEVE_SOCKET", path.string()}}).code, 6);
}

// SPEC §7: the client that started the run prints the question and the command that answers it.
TEST_F(ApprovalsCli, run_prints_the_question_and_the_command) {
  Words words = {"run", "--"};
  for (const std::string& word : asking(R"("question":"Push\nto main?\u001b[2J")")) words.push_back(word);
  const auto session = start(words);
  ASSERT_TRUE(session->wait_for_error("◆ AP-1 asks: Push to main?   reeve approve AP-1\n")) << session->err();
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(session->wait(), 0) << session->err();
  EXPECT_THAT(session->out(), HasSubstr("got approve"));
  EXPECT_EQ(testing::count_of(session->err(), "asks:"), 1);
}

// The same while the tool is still running and printing.
TEST_F(ApprovalsCli, run_prints_the_question_while_the_tool_lives) {
  const auto session = start({"run", "--", "sh", "-c",
                              R"(echo '{"event":"approval_needed","question":"Go on?"}'
while [ ! -e go ]; do sleep 0.05; done; exit 90)"});
  ASSERT_TRUE(session->wait_for_error("◆ AP-1 asks: Go on?   reeve approve AP-1\n")) << session->err();
  EXPECT_FALSE(session->is_over());
  EXPECT_FALSE(tools().empty());
  scratch().write("project/go", "");
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  EXPECT_NE(session->wait(), 0);
  EXPECT_EQ(show("TR-1")["status"], "failed");
}

// SPEC §7: every waiting command prints each question once.
TEST_F(ApprovalsCli, waiting_commands_print_each_question_once) {
  const std::string line = "◆ AP-1 asks: Go on?   reeve approve AP-1\n";
  const std::string id = ask();
  for (const Words& words : std::vector<Words>{
           {"wait", "TR-1"}, {"wait", "TR-1", "--json"}, {"logs", "-f", "TR-1"}, {"approvals", "wait", id}}) {
    const auto waiting = start(words);
    EXPECT_TRUE(waiting->wait_for_error(line)) << words.front() << waiting->err();
    EXPECT_FALSE(waiting->is_over());
  }
  const auto waiting = start({"wait", "TR-1"});
  ASSERT_TRUE(waiting->wait_for_error(line)) << waiting->err();
  EXPECT_EQ(reeve({"approve", "--yes", id}).code, 0);
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  EXPECT_EQ(testing::count_of(waiting->err(), "asks:"), 1);
}

// SPEC §7: the record of a waiting run names its question and the command that answers it.
TEST_F(ApprovalsCli, show_names_the_open_question_of_a_run) {
  const std::string id = ask();
  EXPECT_THAT(reeve({"show", "TR-1"}).out, HasSubstr("asks\tAP-1 Go on?\n"));
  const auto shown = at_terminal({"show", "TR-1"});
  EXPECT_EQ(shown->wait(), 0);
  EXPECT_THAT(shown->out(),
              AllOf(HasSubstr("AP-1 Go on?"), HasSubstr("next: reeve approve AP-1, or reeve reject AP-1")));
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  finish("TR-1");
  EXPECT_THAT(reeve({"show", "TR-1"}).out, Not(HasSubstr("asks\t")));
}

// LOG-3
TEST_F(ApprovalsCli, hostile_text_does_not_reach_the_terminal) {
  const std::string longest(16UZ * 1024, 'x');
  const std::string id = ask(R"("question":"\u001b[2J\u001b]0;t\u0007ok?\rrm -rf /\n\u202egnp.exe )" + longest +
                             R"(","options":[{"value":"y\u001b[31m\n\te","label":"\u001b[5m\u2066x"},)"
                             R"({"value":"no","label":"n\ro"}],"approval_id":"\u001b[H")");
  for (const Words& words : std::vector<Words>{{}, {"approvals"}, {"show", id}}) {
    const auto session = at_terminal(words);
    EXPECT_EQ(session->wait(), 0);
    const Outcome piped = reeve(words);
    for (const std::string& text : {session->out(), piped.out}) {
      EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202e")), Not(HasSubstr("\u2066")),
                              Not(HasSubstr("\a")), HasSubstr("rm -rf /")));
    }
  }
  EXPECT_EQ(lines_of(reeve({"approvals"}).out).size(), 1U);
  // A script gets the raw value.
  const auto waiting = start({"approvals", "wait", id});
  EXPECT_EQ(reeve({"approve", "--confirm", id, id, "--choice", "y\x1b[31m\n\te"}).code, 0);
  EXPECT_EQ(waiting->wait(), 0);
  EXPECT_EQ(waiting->out(), "y\x1b[31m\n\te\n");
  finish("TR-1");
}

TEST_F(ApprovalsCli, help_starts_with_examples) {
  for (const Words& words : std::vector<Words>{{"approvals", "-h"},
                                               {"approve", "-h"},
                                               {"reject", "-h"},
                                               {"deny", "-h"},
                                               {"approvals", "wait", "-h"},
                                               {"audit", "list", "-h"},
                                               {"audit", "verify", "-h"}}) {
    const Outcome help = reeve(words);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Examples\n  reeve ")) << words[0];
  }
}

// APR-14
TEST_F(ApprovalsCli, audit_trail_is_listed_and_verified) {
  ask();
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  finish("TR-1");
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 4);
  const std::vector<std::string> lines = lines_of(reeve({"audit", "list"}).out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], AllOf(StartsWith("1\t"), HasSubstr("\tapproval_requested\t")));
  EXPECT_THAT(lines[1], HasSubstr("\tapproval_granted\t"));
  EXPECT_THAT(lines[2], HasSubstr("\tapproval_used\t"));
  EXPECT_THAT(lines[3], HasSubstr("\tdecision_refused\t"));
  EXPECT_EQ(lines_of(reeve({"audit", "list", "--limit", "1"}).out).at(0), lines[3]);
  EXPECT_EQ(lines_of(reeve({"audit", "list", "--since", "1", "--limit", "1"}).out).at(0), lines[1]);
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, AllOf(StartsWith("[{"), HasSubstr("\"previous\"")));
  const Outcome whole = reeve({"audit", "verify"});
  EXPECT_EQ(whole.code, 0);
  EXPECT_EQ(whole.out, "intact: 4 entries\n");
}

// APR-14: a change made directly in the database is detected.
TEST_F(ApprovalsCli, altered_audit_trail_is_detected) {
  ask();
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  for (const std::string& trigger :
       lines_of(sql("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_log'"))) {
    sql("DROP TRIGGER " + trigger);
  }
  sql("UPDATE audit_log SET actor = 'nobody' WHERE seq = 2");
  const Outcome broken = reeve({"audit", "verify"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.out, "broken at entry 2: it was changed\n");
  EXPECT_THAT(broken.err, HasSubstr("next: reeve audit list --since 0"));
  EXPECT_EQ((*testing::parse_object(reeve({"audit", "verify", "--json"}).out))["broken_at"], "2");
  sql("DELETE FROM audit_log WHERE seq = 2");
  EXPECT_EQ(reeve({"audit", "verify"}).out, "broken at entry 2: it is missing\n");
}

}  // namespace
}  // namespace reeve
