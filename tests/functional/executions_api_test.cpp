#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"
#include "tests/support/socket.h"

// /api/executions (SPEC §3, §7).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;

int status_of(const std::string& answer) { return std::stoi(answer.substr(answer.find(' ') + 1)); }
Members body_of(const std::string& answer) {
  return testing::parse_object(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(Members());
}

class ExecutionsApi : public testing::FlowTest {
 protected:
  std::string body(const std::string& workflow, const std::string& more = {}) const {
    return fmt::format(R"({{"workflow":"{}","project":"{}","environment":{{"PATH":"/usr/bin:/bin"}}{}}})", workflow,
                       project().string(), more);
  }
  std::string post(const std::string& workflow, const std::string& more = {}) const {
    return request("POST", "/api/executions", body(workflow, more));
  }
};

TEST_F(ExecutionsApi, execution_is_started_awaited_and_read) {
  reeve({"runs"});
  write_workflow("w", chain("w", {{"a", held_until("go") + "; echo {goal}"}, {"b", "true"}}));
  const std::string answer = post("w", R"(,"inputs":{"goal":"ship"},"label":"L")");
  EXPECT_EQ(status_of(answer), 201) << answer;
  Members record = body_of(answer);
  EXPECT_EQ(record["execution_id"], "EX-1");
  EXPECT_EQ(record["workflow_id"], "w");
  EXPECT_EQ(record["label"], "L");
  EXPECT_EQ(record["parent"], "null");
  EXPECT_EQ(body_of(request("GET", "/api/executions/EX-1/wait?timeout=50ms"))["status"], "running");
  std::string waited;
  std::thread waiter([&] { waited = request("GET", "/api/executions/ex-1/wait?timeout=60s"); });
  release("go");
  waiter.join();
  EXPECT_EQ(body_of(waited)["status"], "completed");
  EXPECT_THAT(waited, HasSubstr("ship"));
  EXPECT_THAT(request("GET", "/api/executions/EX-1?outputs=0"), Not(HasSubstr("exit_code")));
  Members history = body_of(request("GET", "/api/executions/EX-1/history"));
  EXPECT_THAT(history["runs"], AllOf(HasSubstr("\"TR-1\""), HasSubstr("\"TR-2\"")));
  EXPECT_EQ(history["iterations"], "[]");
  Members workflow = body_of(request("GET", "/api/executions/EX-1/workflow"));
  EXPECT_THAT(workflow["content_hash"], HasSubstr("sha256:"));
  EXPECT_THAT(workflow["workflow"], HasSubstr("\"entry_point\":\"a\""));
  // The caller's environment is not part of the record.
  EXPECT_THAT(request("GET", "/api/executions/EX-1"), Not(HasSubstr("/usr/bin")));
}

TEST_F(ExecutionsApi, wait_can_return_on_a_question) {
  reeve({"runs"});
  write_workflow("w", chain("w", {{"ok", "human Ship it?"}, {"b", "noop"}}));
  post("w");
  EXPECT_EQ(body_of(request("GET", "/api/executions/EX-1/wait?through_approvals=0"))["status"], "waiting_approval");
  EXPECT_EQ(body_of(request("GET", "/api/executions/EX-1/wait?timeout=50ms"))["status"], "waiting_approval");
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/approve", "{}")), 200);
  EXPECT_EQ(body_of(request("GET", "/api/executions/EX-1/wait"))["status"], "completed");
  EXPECT_EQ(status_of(request("GET", "/api/executions/EX-1/wait?timeout=soon")), 400);
  EXPECT_EQ(status_of(request("GET", "/api/executions/EX-5/wait")), 404);
}

TEST_F(ExecutionsApi, pages_list_each_execution_once_without_nodes) {
  reeve({"runs"});
  write_workflow("w", chain("w", {{"a", "noop"}}));
  write_workflow("other", chain("other", {{"ok", "human Go?"}}));
  for (int i = 0; i < 4; ++i) post("w", fmt::format(R"(,"label":"{}")", i % 2 == 0 ? "even" : "odd"));
  post("other");
  for (int i = 1; i <= 4; ++i) request("GET", fmt::format("/api/executions/EX-{}/wait", i));
  std::string cursor;
  std::string seen;
  for (int page = 0; page < 3; ++page) {
    Members answer = body_of(request("GET", "/api/executions?limit=2" + cursor));
    seen += answer["items"];
    EXPECT_EQ(answer["next_cursor"], page < 2 ? fmt::format("EX-{}", 4 - 2 * page) : "null");
    cursor = "&cursor=" + answer["next_cursor"];
  }
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(testing::count_of(seen, fmt::format("\"EX-{}\"", i)), 1);
  EXPECT_THAT(seen, AllOf(Not(HasSubstr("nodes\":")), Not(HasSubstr("inputs"))));
  const auto count = [&](const std::string& query) {
    return testing::count_of(body_of(request("GET", "/api/executions?" + query))["items"], "\"execution_id\"");
  };
  EXPECT_EQ(count("label=even"), 2);
  EXPECT_EQ(count("workflow=other"), 1);
  EXPECT_EQ(count("status=waiting_approval"), 1);
  EXPECT_EQ(count("status=completed,waiting_approval&label=odd"), 2);
  for (const char* wrong : {"limit=0", "limit=501", "status=maybe", "cursor=x"}) {
    EXPECT_EQ(status_of(request("GET", std::string("/api/executions?") + wrong)), 400) << wrong;
  }
}

TEST_F(ExecutionsApi, wrong_requests_start_nothing) {
  reeve({"runs"});
  write_workflow("w", chain("w", {{"a", "noop"}}));
  const std::string there = fmt::format(R"("project":"{}")", project().string());
  struct Case {
    std::string body;
    int status;
    std::string code;
  };
  const std::vector<Case> cases = {
      {"{", 400, "api.bad_request"},
      {"{" + there + "}", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","source":"id: x"})", 400, "api.bad_request"},
      {R"({"workflow":"w","project":"here"})", 400, "api.bad_request"},
      {R"({"workflow":"w","project":"/no/such/folder"})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","inputs":[1]})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","inputs":"x"})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","label":7})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","label":")" + std::string(300, 'x') + R"("})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"w","label":"\u0000"})", 400, "api.bad_request"},
      {"{" + there + R"(,"source":"id: x","file":"x.yaml"})", 400, "api.bad_request"},
      {"{" + there + R"(,"workflow":"v"})", 404, "flow.not_found"},
      {"{" + there + R"(,"source":"id: x"})", 422, "flow.invalid"},
      {"{" + there + R"(,"source":"[1"})", 422, "flow.invalid"},
  };
  for (const Case& wrong : cases) {
    const std::string answer = request("POST", "/api/executions", wrong.body);
    EXPECT_EQ(status_of(answer), wrong.status) << wrong.body.substr(0, 200) << answer;
    EXPECT_EQ(body_of(answer)["code"], wrong.code) << wrong.body.substr(0, 200);
  }
  // Every problem is listed in machine-readable form.
  EXPECT_THAT(request("POST", "/api/executions", "{" + there + R"(,"source":"id: x"})"),
              AllOf(HasSubstr("\"errors\":["), HasSubstr("`nodes`"), HasSubstr("`entry_point`")));
  EXPECT_EQ(body_of(request("GET", "/api/executions"))["items"], "[]");
  for (const char* target : {"EX-1", "EX-1/history", "EX-1/workflow", "TR-1", "x"}) {
    const std::string answer = request("GET", std::string("/api/executions/") + target);
    EXPECT_EQ(status_of(answer), 404) << target;
    EXPECT_EQ(body_of(answer)["code"], "execution.not_found") << target;
  }
  for (const char* act : {"cancel", "retry"}) {
    EXPECT_EQ(status_of(request("POST", std::string("/api/executions/EX-1/") + act, "{}")), 404) << act;
  }
}

// API manners: the same key and body start it once.
TEST_F(ExecutionsApi, idempotency_key_starts_one_execution) {
  reeve({"runs"});
  write_workflow("w", chain("w", {{"a", "noop"}}));
  const std::string key = "Idempotency-Key: k1\r\n";
  const std::string first = request("POST", "/api/executions", body("w"), key);
  const std::string second = request("POST", "/api/executions", body("w"), key);
  EXPECT_EQ(status_of(first), 201);
  EXPECT_EQ(body_of(second)["execution_id"], "EX-1");
  EXPECT_EQ(body_of(request("POST", "/api/executions", body("w", R"(,"label":"x")"), key))["code"], "api.key_reused");
  EXPECT_EQ(testing::count_of(request("GET", "/api/executions"), "\"execution_id\""), 1);
}

// GRF-11: the child's record names its parent, the parent's node its child.
TEST_F(ExecutionsApi, subgraph_and_parent_link_to_each_other) {
  reeve({"runs"});
  write_workflow("inner", chain("inner", {{"x", "noop"}}));
  const std::string source =
      R"(id: o\nname: O\nentry_point: s\nnodes:\n  - {id: s, type: subgraph, subgraph_config: {workflow_name: inner}}\nedges: []\n)";
  const std::string answer = request("POST", "/api/executions",
                                     fmt::format(R"({{"source":"{}","project":"{}"}})", source, project().string()));
  ASSERT_EQ(status_of(answer), 201) << answer;
  const std::string parent = request("GET", "/api/executions/EX-1/wait");
  EXPECT_EQ(body_of(parent)["status"], "completed");
  EXPECT_THAT(parent, HasSubstr(R"("child_execution_id":"EX-2")"));
  EXPECT_EQ(body_of(request("GET", "/api/executions/EX-2"))["parent"], R"({"execution_id":"EX-1","node_id":"s"})");
}

}  // namespace
}  // namespace reeve
