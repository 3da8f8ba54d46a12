#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// `reeve run` in a pipeline and at a terminal.
namespace reeve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using testing::Words;

class RunForeground : public testing::DaemonTest {
 protected:
  // A shell that runs this script; `$reeve` is the built program.
  Outcome shell(const std::string& script) const {
    auto environment = launch({}).environment;
    environment.emplace_back("reeve", testing::reeve_binary());
    return testing::run_program({.argv = {"bash", "-c", script}, .folder = project(), .environment = environment});
  }
};

// §7: 141
TEST_F(RunForeground, lost_reader_cancels_the_run_at_once) {
  // Slow enough that all of its output is read soon after its end.
  const Outcome outcome =
      shell("$reeve run -- sh -c 'while echo y; do sleep 0.01; done' | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(outcome.out, "y\n141\n");
  EXPECT_THAT(outcome.err, HasSubstr("cancelled TR-1: the reader of its output is gone"));
  EXPECT_EQ(finish("TR-1")["status"], "cancelled");
  EXPECT_THAT(show("TR-1")["reason"], HasSubstr("the reader of its output is gone"));
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// §7: also for a tool that prints as fast as it can.
TEST_F(RunForeground, lost_reader_cancels_a_tool_that_floods_its_output) {
  const Outcome outcome = shell("$reeve run -- yes | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(outcome.out, "y\n141\n");
  EXPECT_EQ(finish("TR-1")["status"], "cancelled");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// §7: a run that was not started here continues.
TEST_F(RunForeground, lost_reader_of_attach_leaves_the_run) {
  const std::string id = detach({}, {"lines", "100000", "--pause", "1"});
  const Outcome outcome = shell("$reeve attach " + id + " | head -1; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(outcome.out, HasSubstr("\n141\n"));
  EXPECT_EQ(show(id)["status"], "running");
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
}

// §7: --no-wait returns although the tool lives on at its terminal.
TEST_F(RunForeground, no_wait_returns_at_a_prompt) {
  const Outcome outcome = reeve({"run", "--no-wait", "--pty", "--", "sh", "-c", "printf 'Continue? [y/n] '; read x"});
  EXPECT_EQ(outcome.code, 90) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Continue? [y/n]"));
  EXPECT_THAT(outcome.err, HasSubstr("TR-1 is waiting for an approval"));
  EXPECT_EQ(show("TR-1")["status"], "waiting_approval");
  EXPECT_EQ(reeve({"cancel", "TR-1", "--kill"}).code, 0);
}

// LOG-4
TEST_F(RunForeground, secrets_are_masked_where_output_is_no_terminal) {
  const std::string script =
      "printf 'token %s\\n' $MY_TOKEN; printf 'cut hunter2-is'; sleep 0.2; printf '%s\\n' -long; echo err $MY_TOKEN "
      ">&2";
  const Words words = {"run", "--env", "MY_TOKEN=hunter2-is-long", "--no-pty", "--", "sh", "-c", script};
  const Outcome piped = reeve(words);
  EXPECT_EQ(piped.out, "token ***\ncut ***\n");
  EXPECT_EQ(piped.err, "err ***\n");
  // It is not known which secrets another person's terminal may show: this is the starter's own.
  const auto terminal = start(words, Session::Ends::terminal, {{"TERM", "xterm"}});
  EXPECT_EQ(terminal->wait(), 0);
  EXPECT_THAT(terminal->out(), HasSubstr("token hunter2-is-long"));
}

// LOG-4: a daemon that dies does not uncover, lose or repeat anything.
TEST_F(RunForeground, masked_output_continues_with_the_next_daemon) {
  const auto client = start({"run", "--env", "MY_TOKEN=hunter2-is-long", "--", "sh", "-c",
                             "echo one $MY_TOKEN; while [ ! -e go ]; do sleep 0.02; done; echo two $MY_TOKEN"});
  ASSERT_TRUE(client->wait_for("one ***\n"));
  for (const testing::FoundProcess& process : processes()) {
    if (process.command.find(" serve") != std::string::npos) ::kill(process.pid, SIGKILL);
  }
  scratch().write("project/go", "");
  EXPECT_EQ(client->wait(), 0) << client->err();
  EXPECT_EQ(client->out(), "one ***\ntwo ***\n");
}

// UX: the id of a failed run leads to its output.
TEST_F(RunForeground, failed_run_names_its_id) {
  const Outcome outcome = run({}, {"exit", "7"});
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err, HasSubstr("TR-1 failed: exit code 7"));
  EXPECT_EQ(run({}, {"exit", "0"}).err, "");
}

// RUN-9
TEST_F(RunForeground, command_at_a_terminal_gets_a_terminal) {
  const Words words = {"run", "--", "sh", "-c", "test -t 0 && test -t 1 && echo has a terminal || echo has none"};
  const auto with = start(words, Session::Ends::terminal, {{"TERM", "xterm"}});
  EXPECT_EQ(with->wait(), 0);
  EXPECT_THAT(with->out(), HasSubstr("has a terminal"));
  Words plain = words;
  plain.insert(plain.begin() + 1, "--no-pty");
  const auto without = start(plain, Session::Ends::terminal, {{"TERM", "xterm"}});
  EXPECT_EQ(without->wait(), 0);
  EXPECT_THAT(without->out(), HasSubstr("has none"));
  EXPECT_THAT(reeve(words).out, HasSubstr("has none"));
}

// RUN-9: a profile says itself what its tool gets.
TEST_F(RunForeground, tool_at_a_terminal_gets_what_its_profile_says) {
  configure("tools:\n  t: {command: [sh, -c, 'test -t 0 && echo has a terminal || echo has none']}\n");
  const auto session = start({"run", "--tool", "t"}, Session::Ends::terminal, {{"TERM", "xterm"}});
  EXPECT_EQ(session->wait(), 0);
  EXPECT_THAT(session->out(), HasSubstr("has none"));
  const Outcome both = reeve({"run", "--pty", "--no-pty", "--", "true"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace reeve
