#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/socket.h"

// User errors: one clear line, the right exit code, a record if a run had begun, and no process left.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::count_of;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class RunInput : public testing::DaemonTest {
 protected:
  // A file of the project with those permissions.
  std::string script(const std::string& name, const std::string& text, fs::perms permissions = fs::perms::all) const {
    const fs::path file = scratch().write("project/" + name, text);
    fs::permissions(file, permissions);
    return file;
  }
  // Expects the newest run to have failed with that reason, and one line on stderr.
  void expect_failed_start(const Outcome& outcome, int code, const std::string& reason) const {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(reason));
    EXPECT_LE(count_of(outcome.err, "\n"), 2) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
    Members record = show("@last");
    EXPECT_EQ(record["status"], "failed");
    EXPECT_EQ(record["exit_code"], std::to_string(code));
    EXPECT_THAT(record["reason"], HasSubstr(reason));
    EXPECT_TRUE(tools().empty());
  }
};

// §7: 127
TEST_F(RunInput, missing_command_exits_127) {
  expect_failed_start(reeve({"run", "--", "no-such-command"}), 127, "command not found: no-such-command");
  expect_failed_start(reeve({"run", "--", "./no-such-command"}), 127, "command not found: ./no-such-command");
  expect_failed_start(reeve({"run", "--", "/no/such/command"}), 127, "command not found: /no/such/command");
  expect_failed_start(reeve({"run", "--pty", "--", "no-such-command"}), 127, "command not found: no-such-command");
  expect_failed_start(reeve({"run", "--env", "PATH=/nowhere", "--", "true"}), 127, "command not found: true");
}

// LOG-3: this includes the name of a command.
TEST_F(RunInput, command_name_is_escaped) {
  expect_failed_start(reeve({"run", "--", "no\x1b[2Jsuch\ncommand"}), 127, "no\\x1b[2Jsuch\\ncommand");
}

// §7: 126
TEST_F(RunInput, unexecutable_command_exits_126) {
  const std::string plain = script("plain", "#!/bin/sh\n", fs::perms::owner_read);
  expect_failed_start(reeve({"run", "--", plain}), 126, "not executable: " + plain);
  expect_failed_start(reeve({"run", "--", "./plain"}), 126, "not executable: ./plain");
  expect_failed_start(reeve({"run", "--", project().string()}), 126, "not executable: " + project().string());
  expect_failed_start(reeve({"run", "--env", "PATH=" + project().string(), "--", "plain"}), 126, "not executable");
}

// §7: 126
TEST_F(RunInput, missing_interpreter_exits_126) {
  script("lost", "#!/no/such/interpreter\n");
  expect_failed_start(reeve({"run", "--", "./lost"}), 126, "interpreter");
  expect_failed_start(reeve({"run", "--env", "PATH=" + project().string(), "--", "lost"}), 126, "interpreter");
}

// §7: 126
TEST_F(RunInput, script_without_a_shebang_exits_126) {
  script("bare", "echo hello\n");
  expect_failed_start(reeve({"run", "--", "./bare"}), 126, "Exec format error");
}

// §7: 126
TEST_F(RunInput, missing_working_folder_exits_126) {
  expect_failed_start(reeve({"run", "--cwd", "/no/such/folder", "--", "true"}), 126,
                      "cannot start in the working folder /no/such/folder");
  expect_failed_start(reeve({"run", "--cwd", "/etc/passwd", "--", "true"}), 126, "Not a directory");
}

// §7: 126. The kernel accepts no argument of more than 128 KiB.
TEST_F(RunInput, overlong_argument_exits_126) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + ", args, \"{prompt}{prompt}\"]}\n");
  const std::string prompt(100'000, 'p');
  expect_failed_start(reeve({"run", "--tool", "zoo", "--prompt", prompt}), 126, "Argument list too long");
}

// §7: an API client can send arguments that no command line can.
TEST_F(RunInput, argument_of_three_mebibytes_fails_the_run) {
  EXPECT_EQ(reeve({"runs"}).code, 0);
  const std::string body = R"({"argv":["/bin/true",")" + std::string(3UZ << 20U, 'x') + R"("],"cwd":"/"})";
  testing::RawSocket peer(socket());
  ASSERT_TRUE(
      peer.send("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body));
  EXPECT_THAT(peer.read_answer().substr(0, 200), HasSubstr("HTTP/1.1 201"));
  peer.close();
  Members record = finish("TR-1");
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["exit_code"], "126");
  EXPECT_THAT(record["reason"], HasSubstr("Argument list too long"));
}

struct Mistake {
  Words words;
  int code;
  std::string message;
  std::string fix;
};

// RUN-11, UX: refused before a run exists.
TEST_F(RunInput, refused_start_leaves_no_record) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() +
            "]}\n  vim: {command: [vim], headless: unsupported}\n  asks: {command: [true, \"{prompt}\"]}\n");
  const std::vector<Mistake> mistakes = {
      {{"run", "--tool", "zo"}, 2, "there is no tool `zo`", "did you mean `zoo`?"},
      {{"run", "--tool", "vim"},
       2,
       "`vim` cannot run unattended: its profile says `headless: unsupported`",
       "terminal"},
      {{"run", "--tool", "asks"}, 2, "`asks` needs a prompt", "--prompt"},
      {{"run", "--", ""}, 2, "no command to run", "--"},
      {{"run"}, 2, "no command to run", "reeve run -- COMMAND"},
      {{"run", "--timeout", "soon", "--", "true"}, 2, "`soon` is not a valid value for `--timeout`", "90s"},
      {{"run", "--timeout", "-1", "--", "true"}, 2, "`-1` is not a valid value for `--timeout`", "90s"},
      {{"run", "--timeout", "99999999999999999d", "--", "true"}, 2, "is not a valid value for `--timeout`", "90s"},
      {{"run", "--no-output-timeout", "5 min", "--", "true"},
       2,
       "is not a valid value for `--no-output-timeout`",
       "5m"},
      {{"run", "--on-stall", "panic", "--", "true"}, 2, "`panic` is not a valid value for `--on-stall`", "mark"},
      {{"run", "--", "\xff\xfe"}, 2, "is not valid UTF-8", "script"},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = reeve(mistake.words);
    EXPECT_EQ(outcome.code, mistake.code) << mistake.message;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(mistake.message));
    EXPECT_THAT(outcome.err, HasSubstr(mistake.fix));
    EXPECT_LE(count_of(outcome.err, "\n"), 3) << outcome.err;
  }
  EXPECT_EQ(reeve({"runs"}).out, "");
  EXPECT_TRUE(tools().empty());
}

// SPEC §7: unknown keys are errors; an invalid config starts nothing, and the daemon keeps running.
TEST_F(RunInput, invalid_config_starts_nothing) {
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  configure("tools:\n  zoo: {comand: [true]}\n");
  const Outcome outcome = run({}, {"exit", "0"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("config.yaml:2"));
  EXPECT_THAT(outcome.err, HasSubstr("comand"));
  configure("tools: {}\n");
  EXPECT_EQ(run({}, {"exit", "0"}).code, 0);
  EXPECT_EQ(show("@last")["tool_run_id"], "TR-2");
}

// §7: 3
TEST_F(RunInput, unknown_ids_exit_3) {
  for (const char* command : {"show", "logs", "attach", "cancel", "wait"}) {
    const Outcome outcome = reeve({command, "TR-999"});
    EXPECT_EQ(outcome.code, 3) << command << outcome.err;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_THAT(outcome.err, HasSubstr("there is no run TR-999")) << command;
    EXPECT_EQ(reeve({command, "TR-99999999999999999999"}).code, 2) << command;
    EXPECT_EQ(reeve({command, "nonsense"}).code, 2) << command;
    EXPECT_EQ(reeve({command, "@last"}).code, 3) << command;
  }
}

// §7: 4
TEST_F(RunInput, ended_run_cannot_be_cancelled_or_attached) {
  EXPECT_EQ(run({}, {"exit", "3"}).code, 3);
  const std::string before = reeve({"show", "TR-1", "--json"}).out;
  const Outcome cancel = reeve({"cancel", "TR-1"});
  EXPECT_EQ(cancel.code, 4);
  EXPECT_THAT(cancel.err, HasSubstr("TR-1 is already failed. Nothing changed."));
  const Outcome attach = reeve({"attach", "tr-1"});
  EXPECT_EQ(attach.code, 4);
  EXPECT_THAT(attach.err, HasSubstr("TR-1 has already ended (failed)"));
  EXPECT_EQ(reeve({"show", "TR-1", "--json"}).out, before);
}

// UX: the same error as JSON.
TEST_F(RunInput, errors_have_a_json_form) {
  const Outcome outcome = reeve({"cancel", "TR-999", "--json"});
  EXPECT_EQ(outcome.code, 3);
  auto problem = testing::parse_object(outcome.out);
  ASSERT_TRUE(problem) << outcome.out;
  EXPECT_EQ((*problem)["code"], "run.not_found");
  EXPECT_EQ((*problem)["status"], "404");
}

}  // namespace
}  // namespace reeve
