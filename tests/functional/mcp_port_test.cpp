#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"

// Questions from outside of runs: /api/questions, /mcp at the port, and `reeve mcp`.
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::body_of;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::status_of;

const std::string listing = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
const std::string json_only = "Accept: application/json\r\n";
const std::string both = "Accept: application/json, text/event-stream\r\n";

std::string call(const std::string& arguments, const std::string& tool = "ask_person") {
  return R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" +
         arguments + "}}";
}
std::string text_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

class McpPort : public testing::PortTest {
 protected:
  std::string post(const Port& port, const std::string& headers, const std::string& body) const {
    return ask(port, compose(port, "POST", "/mcp", headers, body));
  }
  // Waits until that many questions are stored.
  bool has_questions(int count) const {
    return testing::eventually([&] { return sql("SELECT count(*) FROM approvals") == std::to_string(count); });
  }
  std::string column(const std::string& name) const { return sql("SELECT " + name + " FROM approvals"); }
};

TEST_F(McpPort, speaks_the_protocol_without_sessions) {
  const Port port = open_port();
  const std::string token = bearer(make_token("bot", "operate"));
  const std::string hello =
      post(port, token, R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})");
  EXPECT_EQ(status_of(hello), 200);
  EXPECT_THAT(hello, AllOf(HasSubstr(R"("protocolVersion":"2025-06-18")"), Not(HasSubstr("Mcp-Session-Id"))));
  const std::string told =
      post(port, token + "MCP-Protocol-Version: 2025-06-18\r\n", R"({"jsonrpc":"2.0","method":"notifications/x"})");
  EXPECT_EQ(status_of(told), 202);
  EXPECT_EQ(text_of(told), "");
  // Only what needs no run.
  EXPECT_THAT(text_of(post(port, token + both, listing)),
              AllOf(HasSubstr("\"ask_person\""), HasSubstr("\"report_progress\""), Not(HasSubstr("approve")),
                    Not(HasSubstr("read_context")), Not(HasSubstr("file_read"))));
  EXPECT_THAT(post(port, token, call("{}", "shell_execute")), HasSubstr("-32602"));
  EXPECT_THAT(post(port, token, call("{}")), HasSubstr(R"("isError":true)"));
  for (const char* method : {"GET", "DELETE", "PUT"}) {
    EXPECT_EQ(status_of(ask(port, compose(port, method, "/mcp", token))), 405) << method;
  }
  EXPECT_EQ(status_of(post(port, token + "MCP-Protocol-Version: 1999-01-01\r\n", listing)), 400);
  EXPECT_EQ(status_of(post(port, token, "nonsense")), 400);
  EXPECT_EQ(status_of(post(port, token, "\"" + std::string(2UZ << 20U, 'x') + "\"")), 400);
  EXPECT_EQ(sql("SELECT count(*) FROM approvals"), "0");
}

// The checks of every route.
TEST_F(McpPort, strangers_cannot_ask) {
  const Port port = open_port();
  const std::string operates = bearer(make_token("bot", "operate"));
  const std::string question = call(R"({"question":"Ship it?"})");
  const std::string body = R"({"question":"Ship it?"})";
  for (const auto& [target, text] : {std::pair("/mcp", question), std::pair("/api/questions", body)}) {
    const auto status = [&](const std::string& headers) {
      return status_of(ask(port, compose(port, "POST", target, headers, text)));
    };
    EXPECT_EQ(status(""), 401) << target;
    EXPECT_EQ(status(bearer("reeve_" + std::string(64, '0'))), 401) << target;
    EXPECT_EQ(status(operates + "Origin: http://evil.example\r\n"), 403) << target;
    std::string other_host = compose(port, "POST", target, operates, text);
    const std::string host = fmt::format("Host: 127.0.0.1:{}", port.number);
    other_host.replace(other_host.find(host), host.size(), "Host: evil.example");
    EXPECT_EQ(status_of(ask(port, other_host)), 421) << target;
  }
  for (const char* scope : {"read", "approve"}) {
    const std::string token = bearer(make_token(std::string("only-") + scope, scope));
    EXPECT_EQ(status_of(post(port, token, question)), 403) << scope;
    EXPECT_EQ(status_of(ask(port, compose(port, "POST", "/api/questions", token, body))), 403) << scope;
  }
  EXPECT_EQ(sql("SELECT count(*) FROM approvals"), "0");
}

// APR-12: the asker is the token. A wait holds up no other request.
TEST_F(McpPort, question_is_answered_in_a_stream) {
  const Port port = open_port();
  const std::string token = bearer(make_token("bot", "operate"));
  RawSocket waiting(port);
  waiting.send(compose(port, "POST", "/mcp", token + both, call(R"({"question":"Ship it?","options":["yes","no"]})")));
  EXPECT_THAT(waiting.read_until("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream"));
  ASSERT_TRUE(has_questions(1));
  EXPECT_EQ(column("asked_by"), "bot");
  EXPECT_EQ(column("kind || COALESCE(run, '-') || COALESCE(execution, '-')"), "question--");
  EXPECT_EQ(status_of(post(port, token, R"({"jsonrpc":"2.0","id":9,"method":"ping"})")), 200);
  EXPECT_THAT(reeve({"approvals"}).out, HasSubstr("bot"));
  EXPECT_THAT(reeve({"show", "AP-1"}).out, HasSubstr("asked_by\tbot"));
  EXPECT_EQ(reeve({"approve", "--yes", "--comment", "carefully", "AP-1"}).code, 0);
  const std::string event = waiting.read_until("\n\n");
  EXPECT_THAT(event, AllOf(HasSubstr("event: message"), HasSubstr(R"("id":5)"), HasSubstr("yes (carefully)"),
                           HasSubstr(R"("isError":false)")));
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

TEST_F(McpPort, client_without_streams_gets_the_answer_as_json) {
  const Port port = open_port();
  const std::string token = bearer(make_token("bot", "operate"));
  RawSocket waiting(port);
  waiting.send(compose(port, "POST", "/mcp", token + json_only, call(R"({"question":"Ship it?"})")));
  ASSERT_TRUE(has_questions(1));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  const std::string answer = waiting.read_answer();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_THAT(text_of(answer), AllOf(StartsWith("{"), HasSubstr(R"("text":"no")")));
}

// Whoever disconnects withdraws nothing: the question can be answered, and the answer read by its reference.
TEST_F(McpPort, disconnecting_frees_the_request_and_keeps_the_question) {
  const Port port = open_port();
  const std::string token = bearer(make_token("bot", "operate"));
  const std::string question = call(R"({"question":"Ship it?","reference":"ship-7"})");
  for (const std::string& accept : {both, json_only}) {
    RawSocket waiting(port);
    waiting.send(compose(port, "POST", "/mcp", token + accept, question));
    ASSERT_TRUE(has_questions(1));
    waiting.close();
    EXPECT_TRUE(testing::eventually([&] {
      return request("GET", "/metrics").contains("reeve_http_connections{door=\"api\"} 1\n");
    })) << "the request is not freed";
  }
  EXPECT_EQ(column("status"), "pending");
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_THAT(post(port, token, call(R"({"reference":"ship-7"})")), HasSubstr(R"("text":"yes")"));
  EXPECT_THAT(post(port, token, question), HasSubstr(R"("text":"yes")"));
  // Neither an answer to another question, nor somebody else's.
  EXPECT_THAT(post(port, token, call(R"({"question":"Delete it?","reference":"ship-7"})")),
              AllOf(HasSubstr("another question"), HasSubstr(R"("isError":true)")));
  EXPECT_THAT(post(port, bearer(make_token("eve", "operate")), call(R"({"reference":"ship-7"})")),
              HasSubstr(R"("isError":true)"));
}

// SPEC §7: a limited token asks for its project only, also over MCP.
TEST_F(McpPort, limited_token_asks_for_its_project) {
  ASSERT_EQ(reeve({"run", "--", "true"}).code, 0);
  const Port port = open_port();
  const std::string name = project().filename().string();
  const Outcome made = reeve({"token", "create", "bot", "--scope", "operate", "--project", name});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string token = bearer(made.out.substr(0, made.out.find('\n')));
  const auto post_question = [&](const std::string& body) {
    return ask(port, compose(port, "POST", "/api/questions", token, body));
  };
  EXPECT_EQ(status_of(post_question(R"({"question":"One?"})")), 201);
  EXPECT_EQ(body_of(post_question(R"({"question":"Two?","project":"/"})"))["code"], "api.other_project");
  RawSocket waiting(port);
  waiting.send(compose(port, "POST", "/mcp", token + json_only, call(R"({"question":"Three?"})")));
  ASSERT_TRUE(has_questions(2));
  const std::string path = project().string();
  EXPECT_EQ(column("project"), path + "\n" + path);
  EXPECT_EQ(reeve({"reject", "AP-2"}).code, 0);
  EXPECT_EQ(status_of(waiting.read_answer()), 200);
}

TEST_F(McpPort, api_takes_questions_and_bounds_them) {
  reeve({"runs"});
  const std::string key = "Idempotency-Key: one\r\n";
  const std::string wish = R"({"question":"Ship it?","expires_in_seconds":3600,"default":"reject"})";
  const std::string first = request("POST", "/api/questions", wish, key);
  EXPECT_EQ(status_of(first), 201) << first;
  Members record = body_of(first);
  EXPECT_EQ(record["approval_id"], "AP-1");
  EXPECT_EQ(record["risk"], "medium");
  EXPECT_EQ(record["tool_run_id"], "null");
  EXPECT_EQ(body_of(request("POST", "/api/questions", wish, key))["approval_id"], "AP-1");
  EXPECT_EQ(sql("SELECT count(*) FROM approvals"), "1");
  const std::string long_text(17UZ * 1024, 'x');
  for (const std::string& wrong :
       {std::string("{}"), std::string(R"({"question":""})"), R"({"question":")" + long_text + R"("})",
        std::string(R"({"question":"?","options":[]})"), std::string(R"({"question":"?","options":["yes"]})"),
        std::string(R"({"question":"?","options":[{"value":""}]})"), std::string(R"({"question":"?","default":"x"})"),
        std::string(R"({"question":"?","expires_in_seconds":0})"), std::string(R"({"question":"?","reference":""})"),
        std::string(R"({"question":"?","project":"relative"})"), std::string(R"({"question":"a\u0000b"})")}) {
    EXPECT_EQ(status_of(request("POST", "/api/questions", wrong)), 400) << wrong.substr(0, 80);
  }
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  Members decided = body_of(request("GET", "/api/approvals/AP-1/wait"));
  EXPECT_EQ(decided["status"], "approved");
  EXPECT_EQ(decided["use"], "used");
}

// AGT-5: what a program outside of runs reports is an event; nobody can fill the store with them.
TEST_F(McpPort, progress_is_an_event_at_most_one_a_second) {
  reeve({"runs"});
  const Port port = open_port();
  const std::string token = bearer(make_token("bot", "operate"));
  const auto report = [&](const std::string& who, const std::string& arguments) {
    return text_of(post(port, who + json_only, call(arguments, "report_progress")));
  };
  const auto stored = [&] { return sql("SELECT count(*) FROM events WHERE kind = 'caller_progress'"); };
  // Two reports within a second, however slow this machine is: some pair of neighbours is.
  bool is_dropped = false;
  for (int i = 0; i < 50 && !is_dropped; ++i) {
    const std::string answer = report(token, R"({"percent":40,"message":"half way"})");
    is_dropped = answer.contains(R"("text":"not noted: one report a second is kept")");
    if (!is_dropped) EXPECT_THAT(answer, HasSubstr(R"("text":"noted")"));
  }
  EXPECT_TRUE(is_dropped);
  const int kept = std::stoi(stored());
  EXPECT_GE(kept, 1);
  EXPECT_THAT(report(bearer(make_token("eve", "operate")), R"({"message":"mine"})"), HasSubstr(R"("text":"noted")"));
  EXPECT_EQ(stored(), std::to_string(kept + 1)) << "each caller has its own second";
  const std::string events = reeve({"events", "--since", "0"}).out;
  EXPECT_THAT(events, AllOf(HasSubstr("caller_progress"), HasSubstr("bot 40 %: half way"), HasSubstr("eve: mine")));
  EXPECT_THAT(report(token, R"({"percent":101})"), HasSubstr(R"("isError":true)"));
  EXPECT_THAT(report(token, R"({"message":")" + std::string(1'001, 'x') + R"("})"), HasSubstr(R"("isError":true)"));
  EXPECT_THAT(report(token, "{}"), HasSubstr(R"("isError":true)"));
  EXPECT_EQ(stored(), std::to_string(kept + 1));
  const std::string body = R"({"percent":1})";
  EXPECT_EQ(status_of(ask(port, compose(port, "POST", "/api/progress", bearer(make_token("r", "read")), body))), 403);
}

// The same through `reeve mcp` outside of a run: the caller is the user, the project that of the folder.
TEST_F(McpPort, stdio_server_reports_progress_to_the_running_daemon) {
  reeve({"runs"});
  const auto session = start({"mcp"});
  session->type(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"
                "\n");
  session->type(call(R"({"percent":40})", "report_progress") + "\n");
  EXPECT_TRUE(session->wait_for(R"("text":"noted")"));
  session->close_input();
  EXPECT_EQ(session->wait(), 0);
  const std::string data = sql("SELECT data FROM events WHERE kind = 'caller_progress'");
  EXPECT_THAT(data, AllOf(HasSubstr(R"("percent":40)"), HasSubstr(project().string())));
}

// A run has its own socket, on which its question holds it up.
TEST_F(McpPort, a_process_inside_a_run_cannot_ask_as_if_outside) {
  const std::string at = "curl -s --unix-socket " + socket().string() + " -H 'Content-Type: application/json' ";
  const Outcome api = reeve({"run", "--", "/bin/sh", "-c", at + R"(-d '{"question":"?"}' http://x/api/questions)"});
  EXPECT_THAT(api.out, HasSubstr("api.inside_run"));
  const Outcome mcp = reeve({"run", "--", "/bin/sh", "-c", at + "-d '" + listing + "' http://x/mcp"});
  EXPECT_THAT(mcp.out, HasSubstr("api.inside_run"));
  const Outcome told = reeve({"run", "--", "/bin/sh", "-c", at + R"(-d '{"percent":1}' http://x/api/progress)"});
  EXPECT_THAT(told.out, HasSubstr("api.inside_run"));
  EXPECT_EQ(sql("SELECT count(*) FROM events WHERE kind = 'caller_progress'"), "0");
  EXPECT_EQ(sql("SELECT count(*) FROM approvals"), "0");
}

TEST_F(McpPort, stdio_server_asks_through_the_running_daemon) {
  const auto begin = [&] {
    auto session = start({"mcp"});
    session->type(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})"
                  "\n");
    session->type(call(R"({"question":"Ship it?"})") + "\n");
    return session;
  };
  const auto alone = begin();
  EXPECT_TRUE(alone->wait_for("no Reeve daemon is running"));
  EXPECT_FALSE(std::filesystem::exists(socket())) << "it started a daemon";
  alone->close_input();
  EXPECT_EQ(alone->wait(), 0);
  reeve({"runs"});
  const auto session = begin();
  ASSERT_TRUE(has_questions(1));
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_TRUE(session->wait_for(R"("text":"yes")"));
  session->close_input();
  EXPECT_EQ(session->wait(), 0);
}

}  // namespace
}  // namespace reeve
