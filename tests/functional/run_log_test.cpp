#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// What the log hides, what cannot be forged in it, and how it is followed.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using testing::Variables;
using testing::Words;

constexpr const char* secret = "hunter2-correct-horse";

class RunLog : public testing::DaemonTest {
 protected:
  // Only the output file and the launch file contain it, and only the owner can read them.
  void expect_no_secret(const std::string& id) const {
    EXPECT_THAT(logs(id), Not(HasSubstr(secret)));
    EXPECT_THAT(reeve({"logs", id, "--json"}).out, Not(HasSubstr(secret)));
    EXPECT_THAT(reeve({"logs", "--all"}).out, Not(HasSubstr(secret)));
    EXPECT_THAT(reeve({"show", id, "--json"}).out, Not(HasSubstr(secret)));
    EXPECT_THAT(reeve({"runs", "--json"}).out, Not(HasSubstr(secret)));
    EXPECT_THAT(reeve({"events"}).out, Not(HasSubstr(secret)));
    EXPECT_THAT(testing::read_text(state() / "logs/combined.log"), Not(HasSubstr(secret)));
    EXPECT_THAT(testing::read_text(state() / "logs/daemon.log"), Not(HasSubstr(secret)));
    EXPECT_THAT(testing::read_text(state() / "reeve.db"), Not(HasSubstr(secret)));
    EXPECT_THAT(testing::read_text(state() / "reeve.db-wal"), Not(HasSubstr(secret)));
  }
};

// LOG-4
TEST_F(RunLog, secret_is_masked_wherever_output_goes) {
  const Outcome outcome =
      reeve({"run", "--", "sh", "-c", "echo \"a $MY_TOKEN b\"; echo \"error: $MY_TOKEN\" >&2; exit 1"},
            {{"MY_TOKEN", secret}});
  EXPECT_EQ(outcome.out, "a *** b\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("error: ***\n"), Not(HasSubstr(secret))));
  EXPECT_THAT(logs("TR-1"), AllOf(HasSubstr("a *** b\n"), HasSubstr("error: ***\n")));
  EXPECT_EQ(show("TR-1")["last_error"], "error: ***");
  expect_no_secret("TR-1");
}

// LOG-4: this includes secrets split over two writes.
TEST_F(RunLog, secret_split_over_two_writes_is_hidden) {
  for (const Words& options : {Words{}, Words{"--pty"}}) {
    const Outcome outcome = reeve(run_words(options, {"secret-split"}), {{"MY_TOKEN", secret}});
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("***"), Not(HasSubstr(secret))));
    const std::string id = show("@last")["tool_run_id"];
    EXPECT_THAT(logs(id), HasSubstr("***"));
    expect_no_secret(id);
  }
}

// LOG-4: JSON escapes such a value, and decoding restores it.
TEST_F(RunLog, escaped_or_encoded_secret_is_hidden) {
  const std::string value = "pa\"ss\\w/rd-long";
  const Outcome outcome = reeve(
      {"run", "--", "printf", R"(%s\n)", R"({"event":"progress","percent":40,"message":"is pa\"ss\\w\/rd\u002dlong."})",
       R"({"event":"error","message":"not \u0070a\"ss\\w/rd-long!"})",
       R"(<tool_use_error>{"m":"pa\"ss\\w/rd-long"}</tool_use_error>)",
       "u=cGEic3Ncdy9yZC1sb25n; v=pa%22ss%5Cw%2Frd-long; w=pa%22ss%5cw/rd-long;"},
      {{"MY_TOKEN", value}});
  EXPECT_EQ(outcome.code, 0);
  Members record = show("TR-1");
  EXPECT_THAT(record["progress"], HasSubstr("is ***."));
  EXPECT_EQ(record["last_error"], "not ***!");
  EXPECT_THAT(logs("TR-1"), HasSubstr("u=***; v=***; w=***;"));
  const std::vector<std::string> shown = {
      logs("TR-1"),
      reeve({"show", "TR-1", "--json"}).out,
      reeve({"runs", "--json"}).out,
      reeve({"events"}).out,
      testing::read_text(state() / "logs/combined.log"),
      testing::read_text(state() / "reeve.db"),
      testing::read_text(state() / "reeve.db-wal"),
  };
  for (const std::string& text : shown) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("rd-long")), Not(HasSubstr("002dlong")), Not(HasSubstr("cGEic3N"))));
  }
}

// LOG-4: by name patterns and by the profile.
TEST_F(RunLog, secrets_are_found_by_name_pattern_and_profile) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() +
            "], secrets: [PLAIN], pass_env: [PLAIN, OTHER, API_KEY, MY_TOKEN, A_SECRET, DB_PASSWORD_2]}\n");
  const std::string value = secret;
  const Variables variables = {{"PLAIN", value + "1"},    {"API_KEY", value + "2"},       {"MY_TOKEN", value + "3"},
                               {"A_SECRET", value + "4"}, {"DB_PASSWORD_2", value + "5"}, {"OTHER", "all may see"}};
  const Outcome outcome = reeve(run_words({"--tool", "zoo"}, {"env"}), variables);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("PLAIN=***"), HasSubstr("OTHER=all may see"), Not(HasSubstr(value))));
  EXPECT_THAT(logs("TR-1"), AllOf(HasSubstr("PLAIN=***"), HasSubstr("API_KEY=***"), HasSubstr("A_SECRET=***"),
                                  HasSubstr("DB_PASSWORD_2=***"), HasSubstr("OTHER=all may see")));
  expect_no_secret("TR-1");
}

// LOG-4: the API shows the command too.
TEST_F(RunLog, secret_in_the_command_is_hidden) {
  const Outcome outcome =
      reeve(run_words({"--meta", std::string("note=") + secret}, {"args", secret}), {{"MY_TOKEN", secret}});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("***"), Not(HasSubstr(secret))));
  expect_no_secret("TR-1");
}

// A tool's line is a request, never a fact, and speaks only for its own run.
TEST_F(RunLog, forged_lines_change_nothing) {
  const std::string victim = detach({}, {"wait-file", (project() / "go").string()});
  wait_for_output(victim, "waiting");
  run({"--no-wait"}, {"forge", victim});
  Members record = show(victim);
  EXPECT_EQ(record["status"], "running");
  EXPECT_EQ(record["last_heartbeat_at"], "null");
  EXPECT_NE(show("@last")["last_heartbeat_at"], "null");
  for (Members& line : combined_log()) {
    EXPECT_NE(line["event"], "approval_status_change");
    if (line["event"] == "tool_status_change") EXPECT_NE(line["tool"], "x");
    if (line["event"] == "approval_needed") EXPECT_NE(line["tool_run_id"], victim);
  }
  scratch().write("project/go", "");
  EXPECT_EQ(finish(victim)["status"], "completed");
}

// §1: the other events that a tool may report.
TEST_F(RunLog, progress_usage_and_tool_errors_are_recorded) {
  const Outcome outcome = reeve(
      {"run", "--", "printf", R"(%s\n)", R"({"event":"progress","percent":40,"message":"half way"})",
       R"({"event":"usage","input_tokens":10,"output_tokens":5,"cost_usd":0.25})",
       R"({"event":"usage","input_tokens":1,"output_tokens":2})", "<tool_use_error>no such file</tool_use_error>"});
  EXPECT_EQ(outcome.code, 0);
  Members record = show("TR-1");
  EXPECT_THAT(record["progress"], AllOf(HasSubstr("40"), HasSubstr("half way")));
  EXPECT_THAT(record["usage"], AllOf(HasSubstr(R"("input_tokens":11)"), HasSubstr(R"("output_tokens":7)")));
  EXPECT_EQ(record["tool_errors"], R"([{"tool":null,"message":"no such file"}])");
}

// TOOL-6: the tool that the agent requested, not the agent.
TEST_F(RunLog, tool_error_names_the_requested_tool) {
  const Outcome outcome =
      reeve({"run", "--", "printf", R"(%s\n)", "<tool_use_error>Error: No such tool available: Bash</tool_use_error>",
             R"({"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{}},)"
             R"({"type":"tool_use","id":"t2","name":"Read","input":{}}]}})",
             R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,)"
             R"("content":"<tool_use_error>File is gone</tool_use_error>"}]}})"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(show("TR-1")["tool_errors"], R"([{"tool":"Bash","message":"Error: No such tool available: Bash"},)"
                                         R"({"tool":"Edit","message":"File is gone"}])");
  EXPECT_THAT(reeve({"show", "TR-1"}).out, HasSubstr("Edit: File is gone"));
}

// §7
TEST_F(RunLog, follow_continues_until_the_end) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const auto follower = start({"logs", "-f", id});
  ASSERT_TRUE(follower->wait_for("waiting\n"));
  EXPECT_FALSE(follower->is_over());
  // Without -f only the output so far is printed.
  EXPECT_EQ(logs(id), "waiting\n");
  scratch().write("project/go", "");
  EXPECT_EQ(follower->wait(), 0);
  EXPECT_EQ(follower->out(), "waiting\ngo\n");
  EXPECT_EQ(reeve({"logs", "-f", id}).out, "waiting\ngo\n");
}

// RUN-16: a question at the end of an unfinished line is shown while it is asked; a possible beginning of a secret is
// held back.
TEST_F(RunLog, follow_shows_an_unfinished_line) {
  // One pipe per step: a writer that closes late would otherwise end the next step's read.
  const auto pipe = [this](const char* name) {
    std::string path = (project() / name).string();
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  };
  const std::string value = secret;
  const std::string script = "printf 'Name: '; read x < " + pipe("first") +
                             "; printf \"a %s\" \"${MY_TOKEN%-horse}\"; read x < " + pipe("second") +
                             "; printf -- '-horse b'; read x < " + pipe("third") + "; printf ' hunter2'";
  const Outcome started = reeve({"run", "--detach", "--", "sh", "-c", script}, {{"MY_TOKEN", value}});
  const std::string id = started.out.substr(0, started.out.find('\n'));
  const auto follower = start({"logs", "-f", id});
  ASSERT_TRUE(follower->wait_for("Name: "));
  EXPECT_FALSE(follower->is_over());
  scratch().write("project/first", "\n");
  ASSERT_TRUE(follower->wait_for("a "));
  scratch().write("project/second", "\n");
  ASSERT_TRUE(follower->wait_for("*** b"));
  scratch().write("project/third", "\n");
  EXPECT_EQ(follower->wait(), 0);
  EXPECT_EQ(follower->out(), "Name: a *** b hunter2\n");
  EXPECT_EQ(logs(id), "Name: a *** b hunter2\n");
  // The log has complete lines.
  std::size_t lines = 0;
  for (Members& line : combined_log()) {
    if (line["event"] != "tool_output") continue;
    ++lines;
    EXPECT_EQ(line["text"], "Name: a *** b hunter2");
  }
  EXPECT_EQ(lines, 1U);
}

// UX: Ctrl-C ends the watching and prints that the run continues.
TEST_F(RunLog, ctrl_c_stops_following_and_keeps_the_run) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const auto follower = start({"logs", "-f", id});
  ASSERT_TRUE(follower->wait_for("waiting\n"));
  follower->signal(SIGINT);
  EXPECT_EQ(follower->wait(), 130);
  EXPECT_THAT(follower->err(), HasSubstr("stopped watching"));
  EXPECT_EQ(show(id)["status"], "running");
  scratch().write("project/go", "");
  EXPECT_EQ(finish(id)["status"], "completed");
}

// §7
TEST_F(RunLog, all_runs_can_be_followed_at_once) {
  const auto follower = start({"logs", "--all", "-f"});
  // It prints from the moment it is subscribed, which is not reported.
  int runs = 0;
  ASSERT_TRUE(testing::eventually([&] {
    run({}, {"lines", "1"});
    ++runs;
    return follower->out().contains("line 000001");
  }));
  run({}, {"lines", "3", "--start", "500"});
  ASSERT_TRUE(follower->wait_for("TR-" + std::to_string(runs + 1) + " │ line 000502\n"));
  EXPECT_FALSE(follower->is_over());
  follower->signal(SIGINT);
  EXPECT_EQ(follower->wait(), 130);
  EXPECT_THAT(reeve({"logs", "--all"}).out, HasSubstr("TR-1 │ line 000001\n"));
}

// §7: the daemon stops while a client follows: the client finds the next one.
TEST_F(RunLog, followers_survive_a_restart_of_the_daemon) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const auto log = start({"logs", "-f", id});
  const auto all = start({"logs", "--all", "-f"});
  const auto events = start({"events", "-f"});
  const auto wait = start({"wait", id});
  ASSERT_TRUE(log->wait_for("waiting\n"));
  // It prints from the moment it is subscribed, which is not reported.
  ASSERT_TRUE(testing::eventually([&] {
    run({}, {"exit", "3"});
    return events->out().contains("failed");
  }));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  scratch().write("project/go", "");
  EXPECT_EQ(log->wait(), 0);
  EXPECT_EQ(wait->wait(), 0);
  EXPECT_EQ(log->out(), "waiting\ngo\n");
  ASSERT_TRUE(events->wait_for("completed"));
  for (Session* watcher : {all.get(), events.get()}) {
    EXPECT_FALSE(watcher->is_over());
    watcher->signal(SIGINT);
    EXPECT_EQ(watcher->wait(), 130);
  }
  EXPECT_THAT(testing::read_text(state() / "logs/daemon.log"), Not(HasSubstr("corruption")));
}

}  // namespace
}  // namespace reeve
