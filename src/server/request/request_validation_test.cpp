#include "server/request/request_validation.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "server/resources/contract.h"

namespace reeve::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// UX: the tag depends on the bytes and nothing else.
TEST(RequestValidation, entity_tag_changes_with_the_body) {
  EXPECT_EQ(entity_tag("{}"), entity_tag("{}"));
  EXPECT_NE(entity_tag("{}"), entity_tag("{ }"));
  EXPECT_EQ(entity_tag("").size(), 34U);
  const std::string tag = entity_tag("x");
  EXPECT_TRUE(names_tag(tag, tag));
  EXPECT_TRUE(names_tag("\"a\" , W/" + tag, tag));
  EXPECT_TRUE(names_tag("*", tag));
  EXPECT_FALSE(names_tag("", tag));
  EXPECT_FALSE(names_tag("\"a\"", tag));
  EXPECT_FALSE(names_tag(tag.substr(1, tag.size() - 2), tag)) << "without its quotes it is none";
}

TEST(RequestValidation, method_not_allowed_lists_the_allowed_methods) {
  const Response refused = answer_to_method("PUT", {"POST", "GET"});
  EXPECT_EQ(refused.status, 405);
  EXPECT_THAT(refused.body, HasSubstr("api.method_not_allowed"));
  ASSERT_EQ(refused.headers.size(), 1U);
  EXPECT_EQ(refused.headers[0].second, "POST, GET, HEAD, OPTIONS");
  const Response asked = answer_to_method("OPTIONS", {"POST"});
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.headers.at(0).second, "POST, OPTIONS");
}

const Operation* find_operation(std::string_view method, std::string_view path) {
  for (const Operation& operation : contract().operations) {
    if (operation.method == method && operation.path == path) return &operation;
  }
  return nullptr;
}

TEST(RequestValidation, unknown_parameter_gets_a_suggestion) {
  const Operation* list = find_operation("GET", "/api/runs");
  ASSERT_NE(list, nullptr);
  Request request;
  request.query = {{"status", "queued"}, {"limit", "1"}};
  EXPECT_NO_THROW(check_query(*list, request));
  request.query.emplace("curser", "x");
  try {
    check_query(*list, request);
    FAIL() << "it was passed over";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "api.bad_request");
    EXPECT_THAT(error.fix(), AllOf(HasSubstr("did you mean `cursor`?"), HasSubstr("status, project, limit, cursor")));
  }
}

TEST(RequestValidation, unknown_member_gets_a_suggestion) {
  const auto object = [](std::string_view name) {
    base::Value body = base::Value::object();
    body.set(name, base::Value());
    return body;
  };
  const Operation* start = find_operation("POST", "/api/runs");
  const Operation* cancel = find_operation("POST", "/api/runs/{id}/cancel");
  const Operation* stop = find_operation("POST", "/api/daemon/stop");
  ASSERT_TRUE(start != nullptr && cancel != nullptr && stop != nullptr);
  EXPECT_NO_THROW(check_body(contract().schemas, *start, object("no_output_timeout")));
  EXPECT_NO_THROW(check_body(contract().schemas, *cancel, object("reason")));
  EXPECT_NO_THROW(check_body(contract().schemas, *stop, base::Value::object()));
  EXPECT_THROW(check_body(contract().schemas, *stop, object("reason")), base::Error);
  try {
    check_body(contract().schemas, *start, object("timeuot"));
    FAIL() << "it was passed over";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "api.bad_request");
    EXPECT_THAT(error.message(), HasSubstr("`timeuot`"));
    EXPECT_THAT(error.fix(), AllOf(HasSubstr("did you mean `timeout`?"), HasSubstr("argv, tool, prompt")));
  }
}

TEST(RequestValidation, changes_require_a_json_content_type) {
  Request request{.method = "POST"};
  EXPECT_THROW(check_content_type(request), base::Error);
  request.headers = {{"content-TYPE", "text/plain"}};
  EXPECT_THROW(check_content_type(request), base::Error);
  request.headers = {{"Content-Type", "application/json; charset=utf-8"}};
  EXPECT_NO_THROW(check_content_type(request));
  for (const char* coding : {"gzip", "GZIP", "deflate", "br", "identity, gzip", "x"}) {
    request.headers = {
        {"Content-Type", "application/json"}, {"Content-Encoding", "identity"}, {"CONTENT-encoding", coding}};
    EXPECT_THROW(check_content_type(request), base::Error) << coding;
  }
  request.headers = {{"Content-Type", "application/json"}, {"Content-Encoding", "Identity"}};
  EXPECT_NO_THROW(check_content_type(request));
}

TEST(RequestValidation, lookup_request_targets_the_resource_itself) {
  Request request{.method = "POST", .path = "/api/runs/TR-1/cancel", .query = {{"x", "1"}}, .body = "{}"};
  request.headers = {{"If-Match", "\"a\""}, {"if-none-match", "*"}, {"Authorization", "Bearer x"}};
  const Request made = make_look_up(request, subject_path(request.path));
  EXPECT_EQ(made.method, "GET");
  EXPECT_EQ(made.path, "/api/runs/TR-1");
  EXPECT_TRUE(made.query.empty() && made.body.empty());
  EXPECT_EQ(made.headers.size(), 1U);
  int answers = 0;
  capture([&](const Response& response) {
    ++answers;
    EXPECT_EQ(response.status, 500) << "one that is dropped is answered all the same";
  });
  EXPECT_EQ(answers, 1);
}

}  // namespace
}  // namespace reeve::server
