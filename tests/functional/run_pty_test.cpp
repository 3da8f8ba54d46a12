#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// `reeve run --pty` and `reeve attach` at a real terminal.
namespace reeve {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Session;
using testing::Words;

constexpr std::string_view detach_keys = "\x10\x11";

bool is_raw(const Session& terminal) { return (terminal.modes().c_lflag & (ICANON | ECHO | ISIG)) == 0; }

bool are_same(const termios& one, const termios& other) {
  return one.c_iflag == other.c_iflag && one.c_oflag == other.c_oflag && one.c_cflag == other.c_cflag &&
         one.c_lflag == other.c_lflag && std::memcmp(one.c_cc, other.c_cc, sizeof one.c_cc) == 0;
}

class RunPty : public testing::DaemonTest {
 protected:
  // Starts at a terminal and waits until it is raw; earlier keys would be handled by the terminal itself.
  std::unique_ptr<Session> sit_down(const Words& words) {
    auto terminal = start(words, Session::Ends::terminal, {{"TERM", "xterm"}});
    EXPECT_TRUE(testing::eventually([&] { return is_raw(*terminal) || terminal->is_over(); }));
    return terminal;
  }
  static void expect_restored(const Session& terminal) {
    EXPECT_TRUE(are_same(terminal.modes(), terminal.first_modes()));
  }
};

// RUN-9
TEST_F(RunPty, typed_input_reaches_the_tool) {
  const auto terminal = sit_down(run_words({"--pty"}, {"echo-tty"}));
  terminal->type("hello\r");
  ASSERT_TRUE(terminal->wait_for("echo: hello\r\n"));
  terminal->type("é and \x10 too\r");
  ASSERT_TRUE(terminal->wait_for("echo: é and \x10 too\r\n"));
  terminal->type("quit\r");
  EXPECT_EQ(terminal->wait(), 0);
  expect_restored(*terminal);
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// RUN-9
TEST_F(RunPty, resize_reaches_the_tool) {
  const auto terminal = sit_down(run_words({"--pty"}, {"size"}));
  ASSERT_TRUE(terminal->wait_for("24x80\r\n"));
  terminal->resize(40, 100);
  ASSERT_TRUE(terminal->wait_for("40x100\r\n"));
  terminal->resize(10, 20);
  ASSERT_TRUE(terminal->wait_for("10x20\r\n"));
  // Ctrl-D
  terminal->type("\x04");
  EXPECT_EQ(terminal->wait(), 0);
  expect_restored(*terminal);
}

// §7: keys go to the run as they are pressed, Ctrl-C too.
TEST_F(RunPty, ctrl_c_is_sent_to_the_tool) {
  const auto terminal = sit_down(
      {"run", "--pty", "--", "sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"});
  ASSERT_TRUE(terminal->wait_for("ready"));
  terminal->type("\x03");
  ASSERT_TRUE(terminal->wait_for("caught"));
  EXPECT_EQ(terminal->wait(), 5);
  expect_restored(*terminal);
  EXPECT_EQ(show("TR-1")["status"], "failed");
}

// §7: the run continues, the terminal is restored, and the user can attach again.
TEST_F(RunPty, detached_run_continues_and_can_be_attached) {
  const auto first = sit_down(run_words({"--pty"}, {"echo-tty"}));
  first->type("one\r");
  ASSERT_TRUE(first->wait_for("echo: one\r\n"));
  first->type(detach_keys);
  EXPECT_EQ(first->wait(), 0);
  expect_restored(*first);
  EXPECT_THAT(first->out(), HasSubstr("TR-1 continues; to reattach: reeve attach TR-1"));
  // It reads its terminal, which counts as a question after a while.
  EXPECT_THAT(show("TR-1")["status"], AnyOf("running", "waiting_approval"));

  const auto second = sit_down({"attach", "TR-1"});
  EXPECT_TRUE(second->wait_for("attached to TR-1; Ctrl-P Ctrl-Q detaches and leaves it running"));
  // Earlier output is shown.
  ASSERT_TRUE(second->wait_for("echo: one\r\n"));
  second->type("two\r");
  ASSERT_TRUE(second->wait_for("echo: two\r\n"));
  second->type(std::string(detach_keys.substr(0, 1)));
  second->type(std::string(detach_keys.substr(1)));
  EXPECT_EQ(second->wait(), 0);
  expect_restored(*second);
  EXPECT_THAT(show("TR-1")["status"], AnyOf("running", "waiting_approval"));

  const auto third = sit_down({"attach", "@last"});
  ASSERT_TRUE(third->wait_for("echo: two\r\n"));
  third->type("quit\r");
  EXPECT_EQ(third->wait(), 0);
  expect_restored(*third);
  EXPECT_EQ(show("TR-1")["status"], "completed");
}

// The size of the client that is attached now.
TEST_F(RunPty, attach_sets_the_terminal_size) {
  const std::string id = detach({"--pty"}, {"size"});
  wait_for_output(id, "24x80");
  auto terminal = start({"attach", id}, Session::Ends::terminal);
  terminal->resize(33, 66);
  ASSERT_TRUE(terminal->wait_for("33x66\r\n"));
  terminal->type("\x04");
  EXPECT_EQ(terminal->wait(), 0);
}

// LOG-3: however the client ends, the terminal is restored.
TEST_F(RunPty, a_client_that_is_ended_restores_the_terminal) {
  const std::string id = detach({"--pty"}, {"echo-tty"});
  for (const int number : {SIGTERM, SIGHUP}) {
    const auto terminal = sit_down({"attach", id});
    terminal->type("still here\r");
    ASSERT_TRUE(terminal->wait_for("echo: still here\r\n"));
    terminal->signal(number);
    EXPECT_EQ(terminal->wait(), 128 + number);
    expect_restored(*terminal);
    // The tool lives on, reading its terminal: Reeve may have turned that into a question already.
    EXPECT_THAT(show(id)["status"], AnyOf("running", "waiting_approval"));
  }
  EXPECT_EQ(reeve({"cancel", id, "--kill"}).code, 0);
  EXPECT_EQ(finish(id)["status"], "cancelled");
}

// §7: a run that ends while a client is attached.
TEST_F(RunPty, cancelled_run_restores_the_terminal) {
  const auto terminal = sit_down(run_words({"--pty"}, {"echo-tty"}));
  terminal->type("here\r");
  ASSERT_TRUE(terminal->wait_for("echo: here\r\n"));
  EXPECT_EQ(reeve({"cancel", "TR-1", "--reason", "enough"}).code, 0);
  EXPECT_EQ(terminal->wait(), 130);
  expect_restored(*terminal);
  EXPECT_THAT(terminal->out(), HasSubstr("enough"));
}

// `echo yes | reeve attach @last`
TEST_F(RunPty, piped_input_answers_the_tool) {
  const std::string id = detach({"--pty"}, {"echo-tty"});
  testing::Launch answer = launch({"attach", id});
  answer.input = "yes\nquit\n";
  const testing::Outcome outcome = testing::run_program(answer);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("echo: yes\r\n"));
  EXPECT_EQ(finish(id)["status"], "completed");
}

// RUN-9: a run without a terminal refuses input with a message, and is not affected.
TEST_F(RunPty, run_without_a_terminal_refuses_input) {
  const std::string id = detach({}, {"wait-file", (project() / "go").string()});
  const auto terminal = sit_down({"attach", id});
  ASSERT_TRUE(terminal->wait_for("waiting"));
  terminal->type("x");
  ASSERT_TRUE(terminal->wait_for("takes no input"));
  scratch().write("project/go", "");
  EXPECT_EQ(terminal->wait(), 0);
  expect_restored(*terminal);
  EXPECT_EQ(show(id)["status"], "completed");
}

}  // namespace
}  // namespace reeve
