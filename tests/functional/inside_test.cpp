#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"

// What a process inside a run may request, at the daemon's socket and at its port: its own data, and no decisions (SPEC
// §7, APR-11).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::status_of;

class InRunAccess : public testing::PortTest {
 protected:
  Outcome inside(const std::string& script) const { return reeve({"run", "--", "/bin/sh", "-c", script}); }
  // Shell: `reeve WORDS` for this daemon.
  std::string client(const std::string& words) const {
    return testing::reeve_binary() + " --state " + state().string() + " " + words;
  }
  // Shell: prints the daemon's response to an in-run caller, followed by its status.
  std::string curl(const std::string& target, const std::string& options = {}) const {
    return fmt::format("curl -s -g -w ' %{{http_code}}\n' {} --unix-socket {} \"http://x{}\"", options,
                       socket().string(), target);
  }
  // A foreign run, TR-1, that waits for an answer, AP-1; and an execution, EX-1, whose node waits for AP-2.
  void prepare_others() const {
    EXPECT_EQ(ApprovalsTest::ask(), "AP-1");
    EXPECT_EQ(begin(write_workflow("other", chain("other", {{"ask", "human Go?"}, {"a", "true"}}))), "EX-1");
    EXPECT_TRUE(testing::eventually([&] { return sql("SELECT count(*) FROM approvals") == "2"; }));
  }
  void expect_refused(const Outcome& outcome) const {
    EXPECT_EQ(outcome.code, 5) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("error[api.inside_run]"), HasSubstr("in a shell outside any run")));
  }
};

// A run that a tool started asks: the tool cannot subscribe to events, but still sees the question.
TEST_F(InRunAccess, waiting_for_its_own_run_prints_the_questions) {
  const auto outer =
      start({"run", "--", "/bin/sh", "-c", client("run --pty -- " + testing::zoo_binary() + " ask-line")});
  EXPECT_TRUE(outer->wait_for_error("AP-1 asks: ")) << outer->out() << outer->err();
  EXPECT_EQ(reeve({"cancel", "TR-2"}).code, 0);
  EXPECT_NE(outer->wait(), 0);
}

// Each operation of the API on foreign resources: refused as `x-inside` says, and nothing changes.
TEST_F(InRunAccess, every_operation_refuses_foreign_resources) {
  prepare_others();
  const std::string folder = testing::source_folder().string();
  const std::string things =
      "SELECT (SELECT group_concat(status) FROM approvals), (SELECT group_concat(status) FROM executions), "
      "(SELECT count(*) FROM tokens), (SELECT group_concat(status) FROM tool_runs WHERE tool_run_id = 'TR-1')";
  const std::string before = sql(things);
  const Outcome outcome = inside(
      fmt::format("exec python3 {}/tests/contract/inside {}/docs/openapi.json {}", folder, folder, socket().string()));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("refused"));
  EXPECT_EQ(sql(things), before);
  EXPECT_EQ(reeve({"runs"}).code, 0) << "it is still there";
}

TEST_F(InRunAccess, a_tool_reads_its_own_run) {
  const Outcome outcome =
      inside("echo printed; " + client("show $REEVE_RUN_ID") + " --json; " + client("logs $REEVE_RUN_ID") + "; " +
             curl("/api/approvals?run=$REEVE_RUN_ID") + "; " + curl("/api/runs/$REEVE_RUN_ID/wait?timeout=0s") + "; " +
             curl("/api/runs/$REEVE_RUN_ID/output") + "; " + curl("/healthz"));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(R"("tool_run_id":"TR-1")"), HasSubstr(R"("items":[])")));
  EXPECT_EQ(testing::count_of(outcome.out, " 200\n"), 4) << outcome.out;
  EXPECT_THAT(outcome.out, Not(HasSubstr("inside_run")));
}

TEST_F(InRunAccess, a_tool_reads_the_answer_to_its_own_question) {
  prepare_others();
  const std::string script = R"(if [ -z "$REEVE_APPROVAL_ID" ]; then
echo '{"event":"approval_needed","question":"Mine?"}'; exit 90; fi; )" +
                             curl("/api/approvals/$REEVE_APPROVAL_ID") + "; " +
                             curl("/api/approvals/$REEVE_APPROVAL_ID/wait") + "; " + curl("/api/approvals/AP-1") +
                             "; " + curl("/api/approvals?run=TR-1") + "; " +
                             curl("/api/approvals/AP-2/wait?timeout=0s");
  ASSERT_EQ(reeve({"run", "--detach", "--", "/bin/sh", "-c", script}).out, "TR-2\n");
  wait_for_status("TR-2", "waiting_approval");
  EXPECT_EQ(reeve({"approve", "--confirm=AP-3", "AP-3"}).code, 0);
  EXPECT_EQ(finish("TR-2")["status"], "completed");
  const std::string said = logs("TR-2");
  EXPECT_EQ(testing::count_of(said, " 200\n"), 2) << said;
  EXPECT_EQ(testing::count_of(said, "api.inside_run"), 6) << said;
  EXPECT_EQ(testing::count_of(said, " 403\n"), 3) << said;
}

TEST_F(InRunAccess, task_can_read_its_own_execution) {
  prepare_others();
  const auto script = scratch().write(
      "look.sh", curl("/api/executions/EX-2?outputs=0") + "; " + curl("/api/executions/EX-2/nodes") + "; " +
                     curl("/api/executions/EX-1?outputs=0") + "; " + curl("/api/executions/EX-2/history"));
  EXPECT_EQ(begin(write_workflow("own", chain("own", {{"look", "sh " + script.string()}}))), "EX-2");
  EXPECT_EQ(wait_for("EX-2"), 0);
  const std::string run = sql("SELECT tool_run_id FROM tool_runs WHERE execution_id = 'EX-2'");
  const std::string said = logs(run);
  EXPECT_EQ(testing::count_of(said, " 200\n"), 2) << said;
  EXPECT_EQ(testing::count_of(said, " 403\n"), 2) << said;
  EXPECT_THAT(said, HasSubstr(R"("workflow_id":"own")"));
  EXPECT_THAT(said, Not(HasSubstr(R"("workflow_id":"other")")));
}

// Each refusal names the reason and the next step.
TEST_F(InRunAccess, refused_commands_name_the_reason) {
  prepare_others();
  for (const char* words : {"runs", "", "show TR-1", "logs TR-1", "approvals", "show AP-1", "events", "flow list",
                            "flow show EX-1", "audit list", "token list", "patch list", "wait TR-1"}) {
    SCOPED_TRACE(words);
    expect_refused(inside(client(words)));
  }
}

// A run that a tool starts belongs to it: the tool can follow it, read its questions and cancel it.
TEST_F(InRunAccess, tool_can_start_and_control_its_own_runs) {
  EXPECT_EQ(inside("exec " + client("run -- echo nested")).out, "nested\n");
  EXPECT_EQ(sql("SELECT metadata FROM tool_runs WHERE tool_run_id = 'TR-2'"), R"({"parent_run_id":"TR-1"})");
  const Outcome ended = inside("id=$(" + client("run --detach -- sleep 1000") + "); " + client("cancel $id --kill") +
                               " && " + client("wait $id"));
  EXPECT_EQ(ended.code, 130) << ended.out << ended.err;
  // Claiming a foreign run as the parent does not help.
  const Outcome claimed =
      inside("exec " + client("run --meta parent_run_id=TR-1 -- sh -c '" + client("show TR-5") + "'"));
  expect_refused(claimed);
  EXPECT_EQ(sql("SELECT metadata FROM tool_runs WHERE tool_run_id = 'TR-6'"), R"({"parent_run_id":"TR-5"})");
}

TEST_F(InRunAccess, tool_cannot_add_runs_to_foreign_executions) {
  prepare_others();
  const Outcome outcome = inside("exec " + client("run --execution EX-1 -- true"));
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("run.inside_run"));
  EXPECT_EQ(sql("SELECT count(*) FROM tool_runs WHERE execution_id = 'EX-1'"), "0");
}

// At the port: with any token, from any address, wherever its descriptor is.
class InRunAccessAtPort : public InRunAccess {
 protected:
  std::string curl_port(Port port, const std::string& target, const std::string& options = {}) const {
    return fmt::format(
        "curl -s -w ' %{{http_code}}\n' {} -H \"Authorization: Bearer $(cat '{}')\" \"http://127.0.0.1:{}{}\"", options,
        (state() / "http.token").string(), port.number, target);
  }
  static std::string post() { return "-H 'Content-Type: application/json' -d '{}'"; }
  pid_t daemon() const {
    for (const testing::FoundProcess& process : processes()) {
      const bool is_daemon = process.command.contains(" serve ") && !process.command.contains(" guard ");
      if (is_daemon) return process.pid;
    }
    return 0;
  }
};

TEST_F(InRunAccessAtPort, tool_can_read_only_its_own_run) {
  const Port port = open_port();
  const Outcome outcome = inside(curl_port(port, "/api/runs/$REEVE_RUN_ID") + "; " + curl_port(port, "/api/runs") +
                                 "; " + curl_port(port, "/api/events") + "; " + curl_port(port, "/healthz"));
  EXPECT_EQ(testing::count_of(outcome.out, " 200\n"), 2) << outcome.out;
  EXPECT_EQ(testing::count_of(outcome.out, " 403\n"), 2) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("api.inside_run"));
}

// Every address of 127.0.0.0/8 is this machine.
TEST_F(InRunAccessAtPort, tool_with_another_source_address_is_recognised) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  const std::string approve = "/api/approvals/" + approval + "/approve";
  EXPECT_THAT(inside(curl_port(port, approve, "--interface 127.0.0.2 " + post())).out,
              HasSubstr("approval.inside_run"));
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

// While a descriptor is in flight through another socket no process owns it: then decisions are refused.
TEST_F(InRunAccessAtPort, descriptor_in_flight_cannot_decide) {
  const std::string approval = ApprovalsTest::ask();
  const Port port = open_port();
  scratch().write("project/flight.py", R"(import array, os, socket, sys, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
host = ("127.0.0.1", int(sys.argv[1]))
peer = socket.create_connection(host)
peer.sendall((f"POST /api/approvals/{sys.argv[2]}/approve HTTP/1.1\r\nHost: 127.0.0.1:{host[1]}\r\n"
              f"Authorization: Bearer {open(sys.argv[3]).read().strip()}\r\nContent-Type: application/json\r\n"
              "Content-Length: 2\r\n\r\n{}").encode())
near, far = socket.socketpair()
near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [peer.fileno()]))])
peer.close()
open("sent", "w").close()
while not os.path.exists("back"): time.sleep(0.01)
data, extra, _, _ = far.recvmsg(1, socket.CMSG_SPACE(4))
numbers = array.array("i"); numbers.frombytes(extra[0][2][:4])
peer = socket.socket(fileno=numbers[0])
peer.settimeout(60)
print(peer.recv(65536).decode())
)");
  const auto run = start(
      {"run", "--", "python3", "flight.py", std::to_string(port.number), approval, (state() / "http.token").string()});
  // From here on it does not need the daemon.
  ASSERT_TRUE(testing::eventually([&] { return std::filesystem::exists(project() / "ready"); }));
  const pid_t serving = daemon();
  ASSERT_GT(serving, 0);
  // Stopped, so that it checks only when no process owns the connection.
  ASSERT_EQ(::kill(serving, SIGSTOP), 0);
  release("go");
  const bool is_sent = testing::eventually([&] { return std::filesystem::exists(project() / "sent"); });
  ASSERT_EQ(::kill(serving, SIGCONT), 0);
  EXPECT_TRUE(is_sent);
  // This request is checked after it, by the same thread.
  EXPECT_EQ(
      status_of(PortTest::ask(port, compose(port, "POST", "/api/approvals/AP-99/reject", bearer(own_token()), "{}"))),
      404);
  release("back");
  EXPECT_EQ(run->wait(), 0);
  // Disconnected, or hidden if there are processes that this user cannot inspect.
  EXPECT_THAT(run->out(), AllOf(HasSubstr(" 403 "), HasSubstr("api.peer_")));
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(reeve({"reject", approval}).code, 0);
}

}  // namespace
}  // namespace reeve
