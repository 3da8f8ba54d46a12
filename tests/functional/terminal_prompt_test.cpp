#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/support/approval_flow.h"

// RUN-10: a prompt on a tool's terminal becomes a question that can be answered from anywhere, and the answer is typed.
// Prompt detection is tested next to the keeper; these tests cover the way to a person and back.
namespace reeve {
namespace {

using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;

// A change of the database that is held open, then committed.
class Held {
 public:
  Held(const std::filesystem::path& path, const std::string& change) {
    EXPECT_EQ(::sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    ::sqlite3_busy_timeout(database_, 20'000);
    execute("PRAGMA wal_autocheckpoint = 0");
    execute("BEGIN IMMEDIATE; " + change);
  }
  ~Held() {
    execute("COMMIT");
    ::sqlite3_close(database_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  void execute(const std::string& sql) {
    EXPECT_EQ(::sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  }
  sqlite3* database_ = nullptr;
};

class TerminalPrompt : public testing::ApprovalFlowTest {
 protected:
  std::string start_bash(const std::string& program, const testing::Words& options = {}) const {
    testing::Words words = {"run", "--detach", "--pty"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "bash", "-c", program});
    const testing::Outcome started = reeve(words);
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  // Its first keeper pauses whenever it has reported a prompt or refused an answer.
  std::unique_ptr<testing::Session> serve_with_slow_keeper() const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "stop:keeper.prompt_news"}});
    daemon->wait_for_error("listening");
    return daemon;
  }
  std::string asked_by(const std::string& run) const {
    wait_for_status(run, "waiting_approval");
    return question_of(run);
  }
  pid_t daemon_pid() const {
    std::ifstream file(state() / "reeve.lock");
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  // Whether any file in the state folder contains that text.
  bool is_kept(const std::string& text) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      if (bytes.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(TerminalPrompt, approval_and_rejection_are_typed) {
  struct Case {
    const char* command;
    const char* said;
  };
  for (const Case& one : {Case{"approve", "got <y>"}, Case{"reject", "got <n>"}}) {
    const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>")");
    const std::string id = asked_by(run);
    const Members asked = show(id);
    EXPECT_EQ(asked.at("question"), "Go on? [y/N]");
    EXPECT_EQ(asked.at("delivery"), "terminal");
    EXPECT_EQ(asked.at("default_value"), "n");
    ASSERT_EQ(reeve(testing::decision(one.command, id)).code, 0);
    EXPECT_EQ(finish(run).at("status"), "completed");
    EXPECT_THAT(logs(run), HasSubstr(one.said));
    EXPECT_EQ(show(run)["attempt"], "1") << "the same process goes on";
  }
}

TEST_F(TerminalPrompt, a_numbered_menu_gives_its_choices) {
  const std::string run =
      start_bash(R"(printf '1) staging\n2) production\n3) cancel\nWhere to? '; read a; echo "went to <$a>")");
  const std::string id = asked_by(run);
  EXPECT_EQ(reeve({"approve", "--yes", id}).code, 2) << "several ways to say yes";
  ASSERT_EQ(reeve({"approve", "--yes", id, "--choice", "2"}).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("went to <2>"));
  const std::string other = start_bash(R"(printf '1) now\n2) cancel\nWhen? '; read a; echo "<$a>")");
  ASSERT_EQ(reeve({"reject", asked_by(other)}).code, 0);
  finish(other);
  EXPECT_THAT(logs(other), HasSubstr("<2>")) << "the word for no is typed";
}

// APR-3: only an option known to reject is typed for a rejection.
// RUN-10: prompts as these programs print them.
TEST_F(TerminalPrompt, prompts_of_common_programs_keep_their_choices) {
  struct Case {
    const char* screen;
    const char* question;
    testing::Words answer;
    const char* typed;
  };
  const std::vector<Case> cases = {
      {"@@ -1 +1 @@\\n-a\\n+b\\n(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]? ",
       "(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]?",
       {"--choice", "J"},
       "got <J>"},
      {"After this operation, 2,871 kB of additional disk space will be used.\\nDo you want to continue? [Y/n] ",
       "Do you want to continue? [Y/n]",
       {},
       "got <y>"},
      {"Need to install the following packages:\\n  cowsay@1.6.0\\nOk to proceed? (y) ",
       "Ok to proceed? (y)",
       {},
       "got <y>"},
      {"Generating public/private ed25519 key pair.\\n/k already exists.\\nOverwrite (y/n)? ",
       "Overwrite (y/n)?",
       {},
       "got <y>"},
  };
  for (const Case& one : cases) {
    const std::string run = start_bash(fmt::format("printf '{}'; read a; echo \"got <$a>\"", one.screen));
    const std::string id = asked_by(run);
    EXPECT_EQ(show(id)["question"], one.question);
    testing::Words words = {"approve", id, "--confirm=" + id};
    words.insert(words.end(), one.answer.begin(), one.answer.end());
    const testing::Outcome approved = reeve(words);
    ASSERT_EQ(approved.code, 0) << approved.err;
    finish(run);
    EXPECT_THAT(logs(run), HasSubstr(one.typed)) << one.screen;
  }
}

TEST_F(TerminalPrompt, rejection_never_types_an_acting_menu_choice) {
  const std::string run = start_bash(R"(select x in Deploy Cancel; do echo "picked <$x>"; break; done)");
  ASSERT_EQ(reeve({"reject", asked_by(run)}).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("picked <Cancel>"));
  const std::string other = start_bash(R"(select x in Deploy Destroy; do echo "picked <$x>"; break; done)");
  ASSERT_EQ(reeve({"reject", asked_by(other)}).code, 0);
  EXPECT_EQ(finish(other).at("status"), "failed");
  EXPECT_THAT(logs(other), Not(HasSubstr("picked")));
  const std::string agent = start_bash(
      R"(printf 'Proceed?\n❯ 1. Yes\n  2. Yes, and don%st ask again\n  3. No, and say why\n' "'"; read a; echo "<$a>")");
  const std::string id = asked_by(agent);
  const testing::Outcome unclear = reeve({"approve", "--yes", id});
  EXPECT_EQ(unclear.code, 2);
  EXPECT_THAT(unclear.err, HasSubstr("`1`, `2`, `3`"));
  ASSERT_EQ(reeve({"approve", "--yes", id, "--choice", "1"}).code, 0);
  finish(agent);
  EXPECT_THAT(logs(agent), HasSubstr("<1>"));
}

TEST_F(TerminalPrompt, answer_types_its_text) {
  const std::string run = start_bash(R"(read -p "Your name: " a; echo "hello <$a>")");
  const std::string id = asked_by(run);
  EXPECT_THAT(reeve({"show", id}).out, Not(HasSubstr("enter")));
  // Control characters are removed: an answer is one line.
  ASSERT_EQ(reeve({"answer", "--yes", id, "ana\n\x03rm -rf ~"}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("hello <anarm -rf ~>"));
  EXPECT_EQ(show(id)["chosen_value"], "answer");
  EXPECT_EQ(show(id)["answer"], "ana\n\x03rm -rf ~");
  const std::string other = start_bash(R"(read -p "Your name: " a; echo "hello <$a>")");
  // The decider named in the request is ignored (APR-12).
  EXPECT_THAT(request("POST", "/api/approvals/" + asked_by(other) + "/approve",
                      R"({"answer":"bob","comment":"why not","decided_by":"ana"})"),
              HasSubstr("200"));
  finish(other);
  EXPECT_THAT(logs(other), HasSubstr("hello <bob>"));
}

// RUN-10: `approve` alone, and a comment, type nothing: neither is the text that was asked for.
TEST_F(TerminalPrompt, text_is_never_made_up) {
  const std::string run = start_bash(R"(read -p "Your name: " a; echo "hello <$a>")");
  const std::string id = asked_by(run);
  for (const testing::Words& words : {testing::Words{"approve", id},
                                      {"approve", id, "--comment", "looks good"},
                                      {"approve", id, "--choice", "answer", "--comment", "looks good"},
                                      {"answer", id}}) {
    const testing::Outcome outcome = reeve(words);
    EXPECT_EQ(outcome.code, 2) << ::testing::PrintToString(words);
    EXPECT_THAT(outcome.err, HasSubstr(id + " asks for text"));
    EXPECT_THAT(outcome.err, HasSubstr("reeve answer " + id + " TEXT"));
  }
  EXPECT_EQ(show(id)["status"], "pending");
  ASSERT_EQ(reeve({"answer", "--yes", id, ""}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("hello <>"));
}

TEST_F(TerminalPrompt, text_for_a_question_with_options_is_refused) {
  const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>")");
  const std::string id = asked_by(run);
  const testing::Outcome outcome = reeve({"answer", "--yes", id, "y"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(id + " is not answered with text"));
  EXPECT_THAT(outcome.err, HasSubstr("`y`, `n`"));
  EXPECT_EQ(show(id)["status"], "pending");
  ASSERT_EQ(reeve({"reject", id}).code, 0);
  finish(run);
}

TEST_F(TerminalPrompt, answer_asks_for_the_text_at_a_terminal) {
  const std::string run = start_bash(R"(read -p "Branch: " a; echo "on <$a>")");
  const std::string id = asked_by(run);
  const auto cancelled = start({"answer", id}, testing::Session::Ends::terminal);
  ASSERT_TRUE(cancelled->wait_for("Answer, or press Enter to cancel: "));
  cancelled->type("\r");
  EXPECT_NE(cancelled->wait(), 0);
  EXPECT_EQ(show(id)["status"], "pending");
  const auto terminal = start({"approve", id}, testing::Session::Ends::terminal);
  ASSERT_TRUE(terminal->wait_for("Branch:"));
  // The text first, because the confirmation names it.
  ASSERT_TRUE(terminal->wait_for("Answer, or press Enter to cancel: "));
  terminal->type("feature/login\r");
  ASSERT_TRUE(terminal->wait_for("feature/login`? [y/N] "));
  terminal->type("y\r");
  EXPECT_EQ(terminal->wait(), 0);
  // A decision repeats what was asked, and by whom.
  EXPECT_THAT(terminal->out(), HasSubstr(id + " answered: feature/login"));
  EXPECT_THAT(terminal->out(), HasSubstr("bash " + run + " ("));
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("on <feature/login>"));
}

// APR-6: a plain SQL update has to bring the text too.
TEST_F(TerminalPrompt, update_without_a_text_is_void) {
  const std::string run = start_bash(R"(read -p "Branch: " a; echo "on <$a>")");
  const std::string id = asked_by(run);
  sql("UPDATE approvals SET status = 'approved', chosen_value = 'answer' WHERE approval_id = '" + id + "'");
  ASSERT_TRUE(
      testing::eventually([&] { return reeve({"audit", "list"}).out.find("asks for text") != std::string::npos; }));
  EXPECT_EQ(show(id)["status"], "pending");
  sql("UPDATE approvals SET status = 'approved', answer = 'main' WHERE approval_id = '" + id + "'");
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("on <main>"));
}

TEST_F(TerminalPrompt, rejection_without_an_option_interrupts) {
  const std::string run = start_bash(R"(read -p "Your name: " a; echo "hello <$a>")");
  ASSERT_EQ(reeve({"reject", asked_by(run)}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "failed");
  EXPECT_THAT(logs(run), Not(HasSubstr("hello")));
}

// RUN-10: the prompt is asked again when the tool ignores the rejection.
TEST_F(TerminalPrompt, tool_that_ignores_the_interrupt_is_asked_again) {
  const std::string run = start_bash(R"(trap "" INT; read -p "Name: " a; echo "hello <$a>")");
  const std::string first = asked_by(run);
  ASSERT_EQ(reeve({"reject", first}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return question_count(run) == 2; }));
  ASSERT_EQ(reeve({"answer", "--yes", asked_by(run), "bob"}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("hello <bob>"));
}

TEST_F(TerminalPrompt, a_secret_is_typed_and_kept_nowhere) {
  const std::string run = start_bash(R"(read -s -p "Password: " a; echo; echo "it has ${#a} letters")");
  const std::string id = asked_by(run);
  EXPECT_EQ(show(id)["secret"], "true");
  EXPECT_NE(reeve({"approve", "--yes", id}).code, 0) << "nobody is there to be asked for it";
  const std::string secret = "correct-horse-battery-staple";
  testing::Launch with_secret = launch({"approve", "--yes", id, "--secret-stdin"});
  with_secret.input = secret + "\n";
  ASSERT_EQ(testing::run_program(with_secret).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("it has 28 letters"));
  EXPECT_FALSE(is_kept(secret));
}

// Without the secret there is no answer: an empty password does not count.
TEST_F(TerminalPrompt, approval_without_the_secret_types_nothing) {
  const std::string run = start_bash(R"(read -s -p "Password: " a; echo; echo "it has ${#a} letters")");
  const std::string id = asked_by(run);
  sql(fmt::format("UPDATE approvals SET status = 'approved', chosen_value = 'secret' WHERE approval_id = '{}'", id));
  ASSERT_TRUE(testing::eventually(
      [&] { return sql("SELECT count(*) FROM audit_log WHERE kind = 'outside_update_voided'") == "1"; }));
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_THAT(request("POST", "/api/approvals/" + id + "/approve", R"({"secret":""})"), HasSubstr("200"));
  ASSERT_TRUE(testing::eventually([&] { return question_count(run) == 2; })) << "it is asked anew";
  EXPECT_TRUE(testing::eventually([&] { return show(id)["use"] == "void"; }));
  testing::Launch with_secret = launch({"approve", "--yes", asked_by(run), "--secret-stdin"});
  with_secret.input = "seven77\n";
  ASSERT_EQ(testing::run_program(with_secret).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("it has 7 letters"));
}

TEST_F(TerminalPrompt, each_prompt_is_a_question_of_its_own) {
  const std::string run = start_bash(R"(read -p "First? [y/n] " a; read -p "Second? [y/n] " b; echo "<$a$b>")");
  const std::string first = asked_by(run);
  ASSERT_EQ(reeve({"approve", "--yes", first}).code, 0);
  ASSERT_TRUE(
      testing::eventually([&] { return show(run)["status"] == "waiting_approval" && question_of(run) != first; }));
  const std::string second = question_of(run);
  EXPECT_THAT(show(second)["question"], HasSubstr("Second? [y/n]"));
  ASSERT_EQ(reeve({"reject", second}).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("<yn>"));
}

// A user types the answer at the attached terminal.
TEST_F(TerminalPrompt, answer_typed_at_the_terminal_closes_the_question) {
  const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>"; read -p "And now? [y/N] " b)");
  const std::string id = asked_by(run);
  const auto attached = start({"attach", run}, testing::Session::Ends::terminal);
  attached->wait_for("Go on?");
  attached->type("maybe\r");
  wait_for_output(run, "got <maybe>");
  ASSERT_TRUE(testing::eventually([&] { return show(id)["status"] == "expired"; }));
  EXPECT_EQ(reeve({"approve", "--yes", id}).code, 4);
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
}

TEST_F(TerminalPrompt, on_prompt_can_fail_or_answer) {
  const std::string failing = start_bash(R"(read -p "Go on? [y/N] " a)", {"--on-prompt", "fail"});
  const Members failed = finish(failing);
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_EQ(failed.at("reason"), "blocked on stdin");
  const std::string answered =
      start_bash(R"(read -p "Go on? [y/N] " a; read -p "Sure? " b; echo "got <$a$b>")", {"--on-prompt", "answer=y"});
  EXPECT_EQ(finish(answered).at("status"), "completed");
  EXPECT_THAT(logs(answered), HasSubstr("got <yy>"));
}

// Neither timeout runs while a question is open (RUN-3).
TEST_F(TerminalPrompt, timeout_is_paused_while_it_waits) {
  const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>")", {"--timeout", "2s"});
  const std::string id = asked_by(run);
  // A run of the same length shows that the timeout would have expired.
  EXPECT_EQ(reeve({"run", "--timeout", "2500ms", "--", "sleep", "60"}).code, 124);
  EXPECT_EQ(show(run)["status"], "waiting_approval");
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
}

// APR-13: whenever the daemon dies, an answer is typed once.
TEST_F(TerminalPrompt, a_killed_daemon_types_nothing_twice) {
  for (int round = 0; round < 5; ++round) {
    const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>"; read -t 1 b; echo "then <$b>")");
    const std::string id = asked_by(run);
    const pid_t daemon = daemon_pid();
    const auto approving = start({"approve", "--yes", id});
    if (round % 2 == 0) ::kill(daemon, SIGKILL);
    approving->wait();
    if (round % 2 == 1) ::kill(daemon, SIGKILL);
    // Refused only if the first attempt was stored.
    reeve({"approve", "--yes", id});
    EXPECT_EQ(finish(run).at("status"), "completed");
    EXPECT_THAT(logs(run), HasSubstr("got <y>"));
    EXPECT_THAT(logs(run), HasSubstr("then <>")) << "nothing was typed a second time";
  }
}

// The next daemon types an answer that was not typed yet, and does not ask again.
TEST_F(TerminalPrompt, untyped_answer_is_typed_by_the_next_daemon) {
  auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", "approval.after_decide"}});
  daemon->wait_for_error("listening");
  const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>")");
  const std::string id = asked_by(run);
  start({"approve", "--yes", id})->wait();
  daemon->wait();
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("got <y>"));
  EXPECT_EQ(question_count(run), 1);
}

// The tool is stopped when its answer arrives and resumes afterwards: the answer still belongs to this prompt.
TEST_F(TerminalPrompt, fixed_answer_is_retried_while_the_prompt_stays) {
  const auto server = serve_with_slow_keeper();
  const Gate gate(scratch().path() / "gate");
  const std::string run =
      start_bash(fmt::format(R"(echo "pid=$$."; read x < {}; read -p "Go on? [y/N] " a; echo "got <$a>")", gate.path()),
                 {"--on-prompt", "answer=y"});
  wait_for_output(run, "pid=");
  const std::string text = logs(run);
  const pid_t tool = std::stoi(text.substr(text.find("pid=") + 4));
  gate.open();
  // The keeper has reported the prompt.
  const pid_t keeper = wait_for_stopped_keeper();
  ASSERT_EQ(::kill(tool, SIGSTOP), 0);
  ASSERT_EQ(::kill(keeper, SIGCONT), 0);
  // The keeper has refused the answer.
  ASSERT_EQ(wait_for_stopped_keeper(), keeper);
  ASSERT_EQ(::kill(tool, SIGCONT), 0);
  ASSERT_EQ(::kill(keeper, SIGCONT), 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("got <y>"));
}

// RUN-10: a prompt that appears while another question fails is not missed.
TEST_F(TerminalPrompt, prompt_after_a_failed_question_is_asked) {
  const auto server = serve_with_slow_keeper();
  const Gate gate(scratch().path() / "gate");
  const std::string run = start_bash(
      fmt::format(R"(read x < {}; curl -s --unix-socket "$REEVE_SOCKET" -H 'Content-Type: application/json' )"
                  R"(-d '{{"question":"In vain?"}}' http://reeve/api/approvals > /dev/null < /dev/null & )"
                  R"(read -p "Go on? [y/N] " a; echo "got <$a>")",
                  gate.path()));
  wait_for_status(run, "running");
  {
    const Held held(state() / "reeve.db",
                    "CREATE TRIGGER trouble BEFORE INSERT ON approvals WHEN NEW.question = 'In vain?' "
                    "BEGIN SELECT RAISE(ABORT, 'refused by a test'); END");
    gate.open();
    // The keeper reports the prompt while the other question waits for the store; the daemon has processed it by its
    // next response.
    ASSERT_EQ(::kill(wait_for_stopped_keeper(), SIGCONT), 0);
    request("GET", "/healthz");
  }
  const std::string id = asked_by(run);
  EXPECT_EQ(show(id)["question"], "Go on? [y/N]");
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  EXPECT_THAT(logs(run), HasSubstr("got <y>"));
}

// A prompt from before the daemon's start is still the same question.
TEST_F(TerminalPrompt, question_survives_a_daemon_crash) {
  const std::string run = start_bash(R"(read -p "Go on? [y/N] " a; echo "got <$a>")");
  const std::string id = asked_by(run);
  ASSERT_EQ(::kill(daemon_pid(), SIGKILL), 0);
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_EQ(question_of(run), id);
  ASSERT_EQ(reeve({"approve", "--yes", id}).code, 0);
  finish(run);
  EXPECT_THAT(logs(run), HasSubstr("got <y>"));
}

TEST_F(TerminalPrompt, silent_tool_without_a_prompt_is_not_asked_about) {
  const std::string sleeping = start_bash("sleep 3; echo done");
  const std::string busy = start_bash("end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do :; done; echo done");
  EXPECT_EQ(finish(sleeping).at("status"), "completed");
  EXPECT_EQ(finish(busy).at("status"), "completed");
  EXPECT_EQ(reeve({"approvals", "--all"}).out, "");
}

// LOG-4: the question shows the screen to every reader.
TEST_F(TerminalPrompt, a_secret_on_the_screen_is_hidden_in_the_question) {
  const testing::Outcome started = reeve({"run", "--detach", "--pty", "--env", "MY_TOKEN=tok-12345678", "--", "bash",
                                          "-c", R"(read -p "Use $MY_TOKEN? [y/N] " a)"});
  const std::string run = started.out.substr(0, started.out.find('\n'));
  const std::string id = asked_by(run);
  EXPECT_EQ(show(id)["question"], "Use ***? [y/N]");
  ASSERT_EQ(reeve({"reject", id}).code, 0);
  finish(run);
}

// RUN-10: what a person has just read belongs to the question, also at a small terminal.
TEST_F(TerminalPrompt, context_has_forty_lines_at_any_terminal_size) {
  const std::string run = start_bash(R"(for i in $(seq 1 60); do echo "line $i"; done; read -p "Go on? [y/N] " a)");
  const Members asked = show(asked_by(run));
  EXPECT_EQ(asked.at("question"), "Go on? [y/N]");
  const auto lines = testing::lines_of(asked.at("context"));
  ASSERT_EQ(lines.size(), 40U);
  EXPECT_EQ(lines.front(), "line 22");
  EXPECT_EQ(lines.back(), "Go on? [y/N]");
  EXPECT_EQ(reeve({"cancel", run, "--kill"}).code, 0);
}

// RUN-10: a program draws for the terminal that it has now.
TEST_F(TerminalPrompt, question_is_read_at_the_present_terminal_size) {
  const std::string draw =
      R"sh(until [ "$(stty size)" = "50 100" ] && test -e go; do sleep 0.02; done; printf '\033[2J'; )sh"
      R"sh(for i in $(seq 1 40); do printf '\033[%d;80Hline %d' $i $i; done; )sh"
      R"(printf '\033[41;1HGo on? [y/N] '; read a)";
  const std::string size = R"({"rows":50,"columns":100})";
  const std::string resized = start_bash(draw);
  EXPECT_THAT(request("POST", "/api/runs/" + resized + "/resize", size), HasSubstr(" 200 "));
  const std::string adopted = start_bash(draw);
  EXPECT_THAT(request("POST", "/api/runs/" + adopted + "/resize", size), HasSubstr(" 200 "));
  // The next daemon learns the size from the keeper.
  ::kill(daemon_pid(), SIGKILL);
  EXPECT_EQ(show(adopted)["status"], "running");
  const std::string attached = start_bash(draw);
  const auto client = start({"attach", attached}, testing::Session::Ends::terminal, {{"TERM", "xterm"}});
  client->resize(50, 100);
  scratch().write("project/go", "");
  for (const std::string& run : {resized, adopted, attached}) {
    const Members asked = show(asked_by(run));
    EXPECT_EQ(asked.at("question"), "Go on? [y/N]") << run;
    const auto lines = testing::lines_of(asked.at("context"));
    ASSERT_EQ(lines.size(), 40U) << run;
    EXPECT_EQ(lines.front(), std::string(79, ' ') + "line 2") << run;
    EXPECT_EQ(lines.back(), "Go on? [y/N]") << run;
    EXPECT_EQ(reeve({"cancel", run, "--kill"}).code, 0);
  }
}

}  // namespace
}  // namespace reeve
