#include "agents/mcp_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/mcp_server.h"
#include "agents/mcp_tools.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::agents {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string listing = R"({"jsonrpc":"2.0","id":7,"method":"tools/list"})";
const std::string stateless_call =
    R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask_person","arguments":{},)"
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
const McpHead stateless_head{.revision = "2026-07-28", .method = "tools/call", .name = "ask_person"};

TEST(McpHttp, messages_of_known_revisions_are_performed) {
  EXPECT_EQ(find_http_fault({}, listing), std::nullopt);
  EXPECT_EQ(find_http_fault({.revision = "2025-11-25"}, listing), std::nullopt);
  EXPECT_EQ(find_http_fault(stateless_head, stateless_call), std::nullopt);
  EXPECT_EQ(find_http_fault({}, "[" + listing + "]"), std::nullopt);
  // It learns from the answer which revision the server offers.
  EXPECT_EQ(
      find_http_fault({.revision = "2031-01-01"}, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"),
      std::nullopt);
}

TEST(McpHttp, unknown_revisions_and_other_texts_are_refused) {
  EXPECT_THAT(find_http_fault({.revision = "1999-01-01"}, listing).value_or(""),
              AllOf(HasSubstr("-32022"), HasSubstr(R"("id":7)"), HasSubstr("2025-06-18")));
  EXPECT_THAT(find_http_fault({.revision = ""}, listing).value_or(""), HasSubstr("-32022"));
  EXPECT_THAT(find_http_fault({}, "nonsense").value_or(""), HasSubstr("-32700"));
  EXPECT_THAT(find_http_fault({}, "").value_or(""), HasSubstr("-32700"));
}

// A proxy may have let the request through because of its headers.
TEST(McpHttp, headers_that_contradict_the_message_are_refused) {
  const auto refused = [](const McpHead& head, const std::string& body) {
    return find_http_fault(head, body).value_or("").contains("-32020");
  };
  EXPECT_TRUE(refused({}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2025-06-18", .method = "tools/call", .name = "ask_person"}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2026-07-28", .method = "tools/list", .name = "ask_person"}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2026-07-28", .name = "ask_person"}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2026-07-28", .method = "tools/call", .name = "other"}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2026-07-28", .method = "tools/call"}, stateless_call));
  EXPECT_TRUE(refused({.revision = "2026-07-28", .method = "tools/list"}, listing));
  EXPECT_TRUE(refused({}, "[" + stateless_call + "]"));
}

TEST(McpHttp, header_names_the_agreed_revision) {
  EXPECT_EQ(agreed_revision({}), "2025-03-26");
  EXPECT_EQ(agreed_revision({.revision = "2025-06-18"}), "2025-06-18");
  EXPECT_EQ(agreed_revision(stateless_head), "");
  McpServer server("1", agreed_revision({}));
  EXPECT_EQ(server.on_line("[" + listing + "]").work.size(), 1U) << "the revision with batches";
  EXPECT_TRUE(server.has_open());
}

TEST(McpHttp, stream_is_sent_only_to_those_who_accept_one) {
  EXPECT_TRUE(accepts_event_stream("application/json, text/event-stream"));
  EXPECT_TRUE(accepts_event_stream("TEXT/EVENT-STREAM;q=0.5"));
  EXPECT_FALSE(accepts_event_stream(""));
  EXPECT_FALSE(accepts_event_stream("application/json"));
  EXPECT_FALSE(accepts_event_stream("text/event-streams"));
  EXPECT_EQ(make_sse_message("{}"), "event: message\ndata: {}\n\n");
}

TEST(McpHttp, question_can_be_named_and_waited_for_again) {
  const auto parse = [](std::string_view text) { return parse_outside_question(json::parse(text).value(), "new"); };
  const auto asked = parse(R"({"question":"Ship it?","options":["yes","later"]})");
  ASSERT_TRUE(asked && asked->body);
  EXPECT_EQ(asked->reference, "new");
  EXPECT_THAT(json::encode(*asked->body), AllOf(HasSubstr(R"("reference":"new")"), HasSubstr(R"("value":"later")")));
  EXPECT_EQ(parse(R"({"question":"?","reference":"mine"})")->reference, "mine");
  const auto again = parse(R"({"reference":"mine"})");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reference, "mine");
  EXPECT_FALSE(again->body);
  for (const char* wrong : {"{}", R"({"question":""})", R"({"reference":""})", R"({"reference":7})",
                            R"({"question":7,"reference":"mine"})", R"({"question":"?","options":[]})"}) {
    EXPECT_FALSE(parse(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_outside_question(
      base::Value::object({{"question", base::Value::string(std::string(20'000, 'x'))}}), "new"));
  EXPECT_THAT(describe_unanswered("m\"x"), HasSubstr(R"({"reference":"m\"x"})"));
}

}  // namespace
}  // namespace reeve::agents
