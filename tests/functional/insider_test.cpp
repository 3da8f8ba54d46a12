#include <csignal>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// APR-11: what a process inside a run cannot do, however it hides its origin.
namespace reeve {
namespace {

using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Words;

class InRunCaller : public testing::DaemonTest {
 protected:
  InRunCaller() { configure("tools:\n  asks: {command: [/bin/sh, -c]}\n"); }
  // The output and exit code of a script that runs as a tool.
  Outcome inside(const std::string& script) const { return reeve({"run", "--", "/bin/sh", "-c", script}); }
  std::string program() const { return testing::reeve_binary() + " "; }
  std::string place() const { return " --state " + state().string(); }
  // A run that waits for an answer: its approval is AP-1.
  void ask() const {
    EXPECT_EQ(reeve({"run", "--detach", "--", "/bin/sh", "-c",
                     R"(echo '{"event":"approval_needed","question":"Go?"}'; exit 90)"})
                  .code,
              0);
    wait_for_status("TR-1", "waiting_approval");
  }
  std::string status_of_question() const { return reeve({"approvals", "--all", "--json"}).out; }
  void expect_reported(const std::string& run, const std::string& action) const {
    EXPECT_TRUE(testing::eventually([&] {
      for (Members& line : combined_log()) {
        if (line["event"] != "policy_denied" || line["tool_run_id"] != run) continue;
        if (line["action"].contains(action) && line.contains("pid")) return true;
      }
      return false;
    })) << action;
    const std::string trail = reeve({"audit", "list", "--json"}).out;
    EXPECT_THAT(trail, HasSubstr("decision_refused"));
    EXPECT_THAT(trail, HasSubstr(action));
    EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
  }
};

TEST_F(InRunCaller, a_tool_cannot_decide) {
  ask();
  for (const char* word : {"approve", "reject"}) {
    const Outcome outcome =
        inside(program() + word + (word == std::string("approve") ? " --yes" : "") + " AP-1" + place());
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("approval.inside_run"));
  }
  EXPECT_THAT(inside(program() + "approve --yes AP-1" + place()).err, HasSubstr("a process inside TR-4 cannot decide"));
  EXPECT_THAT(status_of_question(), HasSubstr("\"pending\""));
  expect_reported("TR-2", "AP-1");
  // A person can.
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// The environment variable can be dropped; the descent cannot.
TEST_F(InRunCaller, caller_is_recognised_by_descent_not_environment) {
  ask();
  const std::string approve = program() + "approve --yes AP-1" + place();
  EXPECT_EQ(inside("exec env -i PATH=/usr/bin:/bin " + approve).code, 5);
  // Outside its group and session, without a parent.
  const Outcome outcome =
      inside("env -i PATH=/usr/bin:/bin setsid sh -c '( sleep 0.1; " + approve +
             "; echo $? > code ) > /dev/null 2>&1 & exit 0'; while ! [ -s code ]; do sleep 0.05; done; cat code");
  EXPECT_EQ(outcome.out, "5\n") << outcome.err;
  EXPECT_THAT(status_of_question(), HasSubstr("\"pending\""));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// Typing an answer is a decision; and without a daemon nothing expires, stalls or is reported.
TEST_F(InRunCaller, tool_cannot_type_into_other_runs_or_stop_the_daemon) {
  ASSERT_EQ(reeve({"run", "--detach", "--pty", "--", "cat"}).code, 0);
  const Outcome typed =
      inside("curl -s --unix-socket " + socket().string() +
             " -H 'Content-Type: application/json' -d '{\"text\":\"yes\\n\"}' http://x/api/runs/TR-1/input");
  EXPECT_THAT(typed.out, HasSubstr("approval.inside_run"));
  expect_reported("TR-2", "type into TR-1");
  const Outcome stopped = inside(program() + "stop" + place());
  EXPECT_EQ(stopped.code, 5) << stopped.err;
  expect_reported("TR-3", "stop the daemon");
  EXPECT_EQ(reeve({"cancel", "TR-1", "--kill"}).code, 0);
}

// A peer that has connected and exited: its pid may have been reused.
TEST_F(InRunCaller, disconnected_peer_is_refused) {
  ask();
  const int connection = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string name = socket().string();
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ::_exit(::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string request =
      "POST /api/approvals/AP-1/approve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\nConnection: close\r\n\r\n{}";
  ASSERT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer(65'536, '\0');
  std::size_t size = 0;
  for (ssize_t count = 0; (count = ::recv(connection, answer.data() + size, answer.size() - size, 0)) > 0;) {
    size += static_cast<std::size_t>(count);
  }
  ::close(connection);
  EXPECT_THAT(answer.substr(0, size), HasSubstr("api.peer_gone"));
  EXPECT_THAT(status_of_question(), HasSubstr("\"pending\""));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// DESIGN §1: recognised by descent, even without the variable.
TEST_F(InRunCaller, a_client_inside_a_run_starts_no_daemon) {
  const std::string other = (scratch().path() / "other").string();
  for (const char* how : {"", "env -u REEVE_RUN_ID "}) {
    const Outcome outcome = inside("exec " + std::string(how) + program() + "runs --state " + other);
    EXPECT_EQ(outcome.code, 6) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(other + "/reeve.sock"));
  }
}

}  // namespace
}  // namespace reeve
