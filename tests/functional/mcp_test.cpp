#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"
#include "tests/support/run_socket.h"
#include "tests/support/session.h"

// `reeve mcp` between an MCP client and a run's socket without a daemon.
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::FakeReply;
using testing::FakeRunSocket;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SeenRequest;
using testing::Session;

using Variables = std::vector<std::pair<std::string, std::string>>;

const std::string waiting = R"({"call_id":"TC-7","decision":"wait","rule":"default","approval_id":"AP-4"})";

class McpProgram : public ::testing::Test {
 protected:
  void serve(FakeRunSocket::Answer answer) { socket_ = std::make_unique<FakeRunSocket>(path(), std::move(answer)); }
  std::filesystem::path path() const { return scratch_.path() / "run.sock"; }

  void start(const Variables& more) {
    testing::Launch launch{.argv = {testing::reeve_binary(), "mcp"}, .folder = scratch_.path()};
    launch.environment = {{"HOME", scratch_.path().string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    session_ = std::make_unique<Session>(launch);
    send(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})");
    ASSERT_TRUE(session_->wait_for("\"id\":0,\"result\""));
  }
  void start_inside() { start({{"REEVE_SOCKET", path().string()}, {"REEVE_RUN_ID", "TR-1"}}); }

  void send(const std::string& line) { session_->type(line + "\n"); }
  void call(int id, const std::string& tool, const std::string& arguments = "{}") {
    send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" + tool +
         R"(","arguments":)" + arguments + "}}");
  }
  // The line that answers this request.
  std::string answer(int id) {
    const std::string mark = "\"id\":" + std::to_string(id) + ",";
    EXPECT_TRUE(testing::eventually([&] { return find_line(mark).has_value(); })) << session_->out();
    return find_line(mark).value_or("");
  }
  std::string answer_to_call(int id, const std::string& tool, const std::string& arguments = "{}") {
    call(id, tool, arguments);
    return answer(id);
  }

  std::optional<std::string> find_line(const std::string& mark) {
    session_->is_over();
    const std::string& out = session_->out();
    std::size_t begin = 0;
    while (begin < out.size()) {
      const std::size_t end = out.find('\n', begin);
      if (end == std::string::npos) break;
      const std::string line = out.substr(begin, end - begin);
      if (line.contains(mark)) return line;
      begin = end + 1;
    }
    return std::nullopt;
  }

  testing::ScratchFolder scratch_;
  std::unique_ptr<FakeRunSocket> socket_;
  std::unique_ptr<Session> session_;
};

TEST_F(McpProgram, lists_its_own_tools_and_those_of_the_host) {
  serve([](const SeenRequest&) {
    return FakeReply{.body = R"({"items":[{"name":"file_read","description":"reads","input_schema":{"type":"object"}},)"
                             R"({"name":"approve","description":"not Reeve's","input_schema":{"type":"object"}}]})"};
  });
  start_inside();
  send(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_THAT(answer(1),
              AllOf(HasSubstr("\"approve\""), HasSubstr("\"ask_person\""), HasSubstr("\"report_progress\""),
                    HasSubstr("\"read_context\""),
                    HasSubstr(R"({"name":"file_read","description":"reads","inputSchema":{"type":"object"}})"),
                    Not(HasSubstr("not Reeve's"))));
  session_->close_input();
  EXPECT_EQ(session_->wait(), 0);
}

TEST_F(McpProgram, approve_answers_what_the_agent_expects) {
  auto reply = std::make_shared<std::string>(R"({"call_id":"TC-7","decision":"allow","rule":"r"})");
  serve([reply](const SeenRequest&) { return FakeReply{.body = *reply}; });
  start_inside();
  const std::string arguments = R"({"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"})";
  EXPECT_THAT(answer_to_call(1, "approve", arguments),
              AllOf(HasSubstr(R"({\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"ls\"}})"),
                    HasSubstr(R"("isError":false)")));
  EXPECT_THAT(socket_->requests().at(0).body, AllOf(HasSubstr(R"("call":"toolu_1")"), HasSubstr(R"("channel":"mcp")"),
                                                    HasSubstr(R"("dialect":"claude")"), Not(HasSubstr("execute"))));
  *reply = R"({"call_id":"TC-8","decision":"deny","rule":"r","reason":"not today"})";
  EXPECT_THAT(answer_to_call(2, "approve", arguments),
              HasSubstr(R"({\"behavior\":\"deny\",\"message\":\"denied: not today\"})"));
  *reply = R"({"call_id":"TC-9","decision":"sure","rule":"r"})";
  EXPECT_THAT(answer_to_call(3, "approve", arguments), HasSubstr(R"(\"behavior\":\"deny\")"));
  EXPECT_THAT(answer_to_call(4, "approve", "{}"), HasSubstr(R"(\"behavior\":\"deny\")"));
}

TEST_F(McpProgram, hosted_call_runs_in_a_post_after_its_yes) {
  auto posts = std::make_shared<int>(0);
  serve([posts](const SeenRequest& request) {
    if (request.line.starts_with("GET ")) return FakeReply{.body = R"({"call_id":"TC-7","decision":"allow"})"};
    if (++*posts == 1) return FakeReply{.body = waiting};
    return FakeReply{.body = R"({"call_id":"TC-7","decision":"allow","result":{"content":"text","is_error":false}})"};
  });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "file_read", R"({"path":"a"})"),
              HasSubstr(R"("result":{"content":[{"type":"text","text":"text"}],"isError":false})"));
  const auto requests = socket_->requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_THAT(requests[0].body, AllOf(HasSubstr(R"("execute":true)"), HasSubstr(R"("tool":"file_read")")));
  // The same call: the daemon runs it at most once.
  EXPECT_EQ(requests[2].body, requests[0].body);
}

TEST_F(McpProgram, a_hosted_call_without_a_result_is_an_error) {
  serve([](const SeenRequest&) { return FakeReply{.body = R"({"call_id":"TC-7","decision":"allow"})"}; });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "file_read"), AllOf(HasSubstr("no result"), HasSubstr(R"("isError":true)")));
}

TEST_F(McpProgram, denied_calls_come_with_their_hint) {
  serve([](const SeenRequest&) {
    return FakeReply{.body = R"({"call_id":"TC-7","decision":"deny","rule":"r","reason":"no","hint":"use file_read"})"};
  });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "git_push"),
              AllOf(HasSubstr(R"(denied: no\nhint: use file_read)"), HasSubstr(R"("isError":true)")));
}

// A call that waits for a person blocks nothing else, and is withdrawn when the client cancels it.
TEST_F(McpProgram, waiting_calls_block_nothing_and_can_be_cancelled) {
  serve([](const SeenRequest& request) {
    if (request.line.starts_with("POST /api/report")) return FakeReply{.body = "{}", .status = 202};
    if (request.line.starts_with("GET ")) return FakeReply{.kind = FakeReply::Kind::silence};
    return FakeReply{.body = waiting};
  });
  start_inside();
  for (int i = 1; i <= 5; ++i) call(i, "git_push");
  send(R"({"jsonrpc":"2.0","id":20,"method":"ping"})");
  EXPECT_THAT(answer(20), HasSubstr("{}"));
  EXPECT_THAT(answer_to_call(21, "report_progress", R"({"percent":40})"), HasSubstr("noted"));
  EXPECT_TRUE(socket_->wait_for("GET /api/tool-calls/TC-7/wait"));
  for (int i = 1; i <= 5; ++i) {
    send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + std::to_string(i) + "}}");
  }
  EXPECT_TRUE(socket_->wait_for("POST /api/tool-calls/TC-7/withdraw"));
  session_->close_input();
  EXPECT_EQ(session_->wait(), 0);
  EXPECT_THAT(session_->out(), Not(HasSubstr("\"id\":1,")));
}

TEST_F(McpProgram, ask_person_returns_the_answer) {
  serve([](const SeenRequest& request) {
    if (request.line.starts_with("POST "))
      return FakeReply{.body = R"({"approval_id":"AP-4","status":"pending"})", .status = 201};
    return FakeReply{.body = R"({"status":"approved","chosen_value":"staging","comment":"carefully"})"};
  });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "ask_person", R"({"question":"Where?","options":["staging","production"]})"),
              AllOf(HasSubstr("staging (carefully)"), HasSubstr(R"("isError":false)")));
  EXPECT_THAT(answer_to_call(2, "ask_person", R"({"question":7})"), HasSubstr(R"("isError":true)"));
}

TEST_F(McpProgram, errors_of_the_daemon_are_tool_errors) {
  serve([](const SeenRequest&) { return FakeReply{.body = R"({"title":"another question is open"})", .status = 409}; });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "ask_person", R"({"question":"Go?"})"),
              AllOf(HasSubstr("another question is open"), HasSubstr(R"("isError":true)")));
  EXPECT_THAT(answer_to_call(2, "read_context"), HasSubstr(R"("isError":true)"));
  EXPECT_THAT(answer_to_call(3, "report_progress", R"({"message":"x"})"), HasSubstr(R"("isError":true)"));
  EXPECT_THAT(answer_to_call(4, "git_push"), HasSubstr(R"("isError":true)"));
  EXPECT_THAT(answer_to_call(5, "approve", R"({"tool_name":"Bash","input":{}})"), HasSubstr(R"(\"deny\")"));
  send(R"({"jsonrpc":"2.0","id":6,"method":"tools/list"})");
  EXPECT_THAT(answer(6), HasSubstr("\"approve\""));
}

TEST_F(McpProgram, read_context_passes_the_document_through) {
  serve([](const SeenRequest&) {
    return FakeReply{.body = R"({"run":"TR-1","attempt":1,"execution":null,"node":null,"agent":"claude","role":null,)"
                             R"("project":null,"folder":"/work","prompt":"fix it","started_at":null})"};
  });
  start_inside();
  EXPECT_THAT(answer_to_call(1, "read_context"), AllOf(HasSubstr(R"(\"prompt\": \"fix it\")"), HasSubstr("TR-1")));
}

TEST_F(McpProgram, outside_a_run_and_without_a_daemon_says_what_to_do) {
  start({});
  send(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  EXPECT_THAT(answer(1), AllOf(HasSubstr("ask_person"), HasSubstr("report_progress"), Not(HasSubstr("approve")),
                               Not(HasSubstr("read_context"))));
  EXPECT_THAT(answer_to_call(2, "ask_person", R"({"question":"Go?"})"),
              AllOf(HasSubstr("reeve serve"), HasSubstr(R"("isError":true)")));
  EXPECT_THAT(answer_to_call(5, "report_progress", R"({"percent":40})"),
              AllOf(HasSubstr("reeve serve"), HasSubstr(R"("isError":true)")));
  EXPECT_THAT(answer_to_call(3, "approve", R"({"tool_name":"Bash","input":{}})"), HasSubstr("-32602"));
  EXPECT_THAT(answer_to_call(4, "shell_execute"), HasSubstr("-32602"));
}

// A process that dropped the variable is still inside: its calls are denied, not left to the agent.
TEST_F(McpProgram, inside_without_a_socket_denies) {
  start({{"REEVE_RUN_ID", "TR-1"}});
  EXPECT_THAT(answer_to_call(1, "approve", R"({"tool_name":"Bash","input":{}})"), HasSubstr(R"(\"deny\")"));
  EXPECT_THAT(answer_to_call(2, "git_push"), HasSubstr(R"("isError":true)"));
}

TEST_F(McpProgram, lines_that_are_too_long_or_no_json_are_answered) {
  start({});
  send("{" + std::string(17UZ * 1024 * 1024, ' '));
  EXPECT_THAT(answer_to_call(1, "ask_person"), HasSubstr("isError"));
  EXPECT_THAT(session_->out(), HasSubstr("longer than 16 MiB"));
  send(R"({"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"ask_person","arguments":{"question":")" +
       std::string(17UZ * 1024 * 1024, 'x') + R"("}}})");
  EXPECT_TRUE(session_->wait_for(R"("id":"long","error":{"code":-32600)"));
  send("nonsense");
  EXPECT_TRUE(session_->wait_for("-32700"));
}

}  // namespace
}  // namespace reeve
