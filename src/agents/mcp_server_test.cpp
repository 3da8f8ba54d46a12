#include "agents/mcp_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/mcp_tools.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Mcp : public ::testing::Test {
 protected:
  // The one line that answers at once.
  std::string answer(std::string_view line) {
    const McpReaction reaction = server.on_line(line);
    EXPECT_THAT(reaction.work, IsEmpty());
    return reaction.lines.size() == 1 ? reaction.lines[0] : "no line";
  }
  void initialize(const std::string& revision = "2025-06-18") {
    answer(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + revision + "\"}}");
  }
  // A call, and its ticket.
  std::uint64_t begin(std::string_view line) {
    const McpReaction reaction = server.on_line(line);
    EXPECT_THAT(reaction.lines, IsEmpty());
    return reaction.work.size() == 1 ? reaction.work[0].ticket : 0;
  }

  McpServer server{"1.2.3"};
};

std::string call(const std::string& id, const std::string& name = "ask_person") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":{"name":")" + name +
         R"(","arguments":{"question":"?"}}})";
}

const std::string stateless_meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";

TEST_F(Mcp, initialize_echoes_a_known_revision_and_offers_the_newest_for_others) {
  const auto asked = [&](const std::string& revision) {
    return answer(R"({"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":")" + revision +
                  "\"}}");
  };
  EXPECT_EQ(asked("2025-06-18"), R"({"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2025-06-18",)"
                                 R"("capabilities":{"tools":{}},"serverInfo":{"name":"reeve","version":"1.2.3"}}})");
  EXPECT_THAT(asked("2024-11-05"), HasSubstr("2024-11-05"));
  EXPECT_THAT(asked("2031-01-01"), HasSubstr(R"("protocolVersion":"2025-11-25")"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})"), HasSubstr("-32602"));
}

TEST_F(Mcp, notifications_are_not_answered) {
  for (const std::string_view line :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", R"({"jsonrpc":"2.0","method":"tools/list"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":[7]})",
        R"({"jsonrpc":"2.0","id":4,"result":{}})", "", "  \r"}) {
    const McpReaction reaction = server.on_line(line);
    EXPECT_THAT(reaction.lines, IsEmpty()) << line;
    EXPECT_THAT(reaction.work, IsEmpty()) << line;
  }
}

TEST_F(Mcp, malformed_messages_get_the_errors_of_json_rpc) {
  initialize();
  EXPECT_THAT(answer("{"), AllOf(HasSubstr("-32700"), HasSubstr(R"("id":null)")));
  EXPECT_THAT(answer("7"), HasSubstr("-32600"));
  EXPECT_THAT(answer("[]"), HasSubstr("-32600"));
  EXPECT_THAT(answer("[{}]"), HasSubstr("no batches"));
  EXPECT_THAT(answer(R"({"id":1,"method":"ping"})"), AllOf(HasSubstr("-32600"), HasSubstr(R"("id":1)")));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1})"), HasSubstr("-32600"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), HasSubstr("-32600"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), HasSubstr("-32600"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"prompts/list"})"), HasSubstr("-32601"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})"), HasSubstr("-32602"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}})"), HasSubstr("-32602"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":[]}})"),
              HasSubstr("-32602"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})"), HasSubstr("-32602"));
  const auto answer_to_long = [](std::string_view beginning) { return McpServer::on_long_line(beginning).lines.at(0); };
  EXPECT_THAT(answer_to_long("["), AllOf(HasSubstr("longer than 16 MiB"), HasSubstr(R"("id":null)")));
  const std::string rest = R"("method":"tools/call","params":{"name":"file_write","arguments":{"content":"xxx)";
  EXPECT_THAT(answer_to_long(R"({"jsonrpc":"2.0","id":7,)" + rest), HasSubstr(R"("id":7,)"));
  EXPECT_THAT(answer_to_long(R"( { "a":{"id":1,"b":["]}"]} , "c" : "\",\"id\":2" , "id" : "x-3" , )" + rest),
              HasSubstr(R"("id":"x-3")"));
  for (const char* beginning :
       {"", "{", R"({"id)", R"({"id":)", R"({"id":7)", R"({"id":"x)", R"({"id":{}, )", R"({"id":1.5,)",
        R"({"a":{"id":1},"b":")", R"({"a":"\)", R"({"id" 7, )", R"({"a":1]"id":2,)", "{,}"}) {
    EXPECT_THAT(answer_to_long(beginning), HasSubstr(R"("id":null)")) << beginning;
  }
}

TEST_F(Mcp, tools_need_initialize_first) {
  EXPECT_THAT(answer(call("1")), AllOf(HasSubstr("-32600"), HasSubstr("initialize")));
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), R"({"jsonrpc":"2.0","id":1,"result":{}})");
}

TEST_F(Mcp, calls_are_answered_in_any_order_with_their_own_ids) {
  initialize();
  const std::uint64_t first = begin(call("1"));
  const std::uint64_t second = begin(call("\"1\""));
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":2,"method":"ping"})"), R"({"jsonrpc":"2.0","id":2,"result":{}})");
  EXPECT_EQ(server.finish(second, McpToolResult{.text = "b"}),
            R"({"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"b"}],"isError":false}})");
  EXPECT_EQ(server.finish(first, McpError{mcp_invalid_params, "no"}),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}})");
  EXPECT_EQ(server.finish(first, McpToolResult{}), std::nullopt);
}

TEST_F(Mcp, an_id_in_use_and_too_many_requests_are_refused) {
  initialize();
  begin(call("1"));
  EXPECT_THAT(answer(call("1")), HasSubstr("-32600"));
  for (std::size_t i = 2; i <= max_mcp_pending; ++i) begin(call(std::to_string(i)));
  EXPECT_THAT(answer(call("1000")), HasSubstr("-32000"));
}

TEST_F(Mcp, cancelled_requests_are_not_answered) {
  initialize();
  const std::uint64_t ticket = begin(call("5"));
  const McpReaction reaction =
      server.on_line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  EXPECT_THAT(reaction.cancelled, ElementsAre(ticket));
  EXPECT_EQ(server.finish(ticket, McpToolResult{}), std::nullopt);
}

TEST_F(Mcp, a_batch_is_answered_in_one_array) {
  initialize("2025-03-26");
  const McpReaction reaction =
      server.on_line("[" + call("1") + R"(,{"jsonrpc":"2.0","id":2,"method":"ping"},7,)" + call("3") +
                     R"(,{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  EXPECT_THAT(reaction.lines, IsEmpty());
  ASSERT_EQ(reaction.work.size(), 2U);
  EXPECT_EQ(server.finish(reaction.work[0].ticket, McpToolResult{.text = "a"}), std::nullopt);
  const auto line = server.finish(reaction.work[1].ticket, McpToolResult{.text = "b"});
  ASSERT_TRUE(line.has_value());
  const auto answers = json::parse(*line);
  ASSERT_TRUE(answers && answers->as_array() != nullptr);
  EXPECT_EQ(answers->as_array()->size(), 4U);
  EXPECT_THAT(answer("[]"), HasSubstr("empty"));
  // Only notifications: no line at all.
  EXPECT_THAT(server.on_line(R"([{"jsonrpc":"2.0","method":"x"}])").lines, IsEmpty());
}

TEST_F(Mcp, a_batch_is_complete_without_its_cancelled_requests) {
  initialize("2025-03-26");
  const McpReaction reaction = server.on_line("[" + call("1") + "," + call("2") + "]");
  ASSERT_EQ(reaction.work.size(), 2U);
  EXPECT_EQ(server.finish(reaction.work[0].ticket, McpToolResult{.text = "a"}), std::nullopt);
  const McpReaction cancelled =
      server.on_line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  EXPECT_THAT(cancelled.lines, ElementsAre(AllOf(HasSubstr(R"("id":1)"), ::testing::Not(HasSubstr(R"("id":2)")))));
}

// The first request of Claude Code 2.1.325; an answer makes it go stateless.
TEST_F(Mcp, stateless_revision_needs_no_initialize) {
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{)" + stateless_meta + "}}"),
              AllOf(HasSubstr(R"("supportedVersions":["2026-07-28"])"), HasSubstr(R"("resultType":"complete")")));
  const std::uint64_t list =
      begin(R"({"jsonrpc":"2.0","id":0,"method":"tools/list","params":{)" + stateless_meta + "}}");
  EXPECT_THAT(*server.finish(list, std::vector<wire::HostedTool>{{"x", "does x", Value::object()}}),
              AllOf(HasSubstr(R"("tools":[{"name":"x","description":"does x","inputSchema":{}}])"),
                    HasSubstr(R"("resultType":"complete")"), HasSubstr(R"("cacheScope":"private")")));
  const std::uint64_t work =
      begin(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",)" + stateless_meta + "}}");
  EXPECT_THAT(*server.finish(work, McpToolResult{.text = "y"}), HasSubstr(R"("resultType":"complete")"));
  EXPECT_THAT(answer(R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{)"
                     R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}})"),
              AllOf(HasSubstr("-32022"), HasSubstr(R"("requested":"2030-01-01")")));
}

TEST(McpTools, approve_takes_what_claude_sends) {
  const auto arguments =
      json::parse(R"({"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"})").value();
  const auto request = parse_approve(arguments, "new");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->tool, "Bash");
  EXPECT_EQ(request->call, "toolu_1");
  EXPECT_EQ(request->dialect, "claude");
  EXPECT_EQ(request->channel, model::CallChannel::mcp);
  EXPECT_FALSE(request->execute);
  EXPECT_EQ(approve_allow(request->arguments), R"({"behavior":"allow","updatedInput":{"command":"ls"}})");
  EXPECT_EQ(approve_deny(""), R"({"behavior":"deny","message":"denied"})");
  EXPECT_EQ(parse_approve(json::parse(R"({"tool_name":"Bash","input":{}})").value(), "new")->call, "new");
  for (const char* wrong :
       {"{}", R"({"tool_name":"Bash"})", R"({"tool_name":7,"input":{}})", R"({"tool_name":"Bash","input":"ls"})",
        R"({"tool_name":"B","input":{},"tool_use_id":7})"}) {
    EXPECT_FALSE(parse_approve(json::parse(wrong).value(), "new").has_value()) << wrong;
  }
}

TEST(McpTools, questions_and_progress_are_checked) {
  const auto question = [](const char* text) { return parse_question(json::parse(text).value(), "q-1"); };
  EXPECT_EQ(json::encode(*question(R"({"question":"Go?"})")),
            R"({"question":"Go?","options":[{"value":"yes","label":"yes"},{"value":"no","label":"no"}],)"
            R"("approval_id":"q-1"})");
  EXPECT_THAT(json::encode(*question(R"({"question":"Go?","options":["a"]})")), HasSubstr(R"([{"value":"a")"));
  for (const char* wrong : {"{}", R"({"question":""})", R"({"question":"x","options":[]})",
                            R"({"question":"x","options":[7]})", R"({"question":"x","options":"y"})"}) {
    EXPECT_FALSE(question(wrong).has_value()) << wrong;
  }
  EXPECT_EQ(json::encode(*parse_progress(json::parse(R"({"percent":40,"message":"x"})").value())),
            R"({"event":"progress","percent":40,"message":"x"})");
  EXPECT_FALSE(parse_progress(Value::object()).has_value());
  EXPECT_FALSE(parse_progress(json::parse(R"({"percent":"x"})").value()).has_value());
}

// APR-4: an expiry is not an answer.
TEST(McpTools, decisions_are_told_with_their_comment) {
  const auto told = [](const char* text) { return describe_decision(json::parse(text).value()); };
  EXPECT_EQ(*told(R"({"status":"approved","chosen_value":"staging","comment":"not prod"})"), "staging (not prod)");
  EXPECT_EQ(*told(R"({"status":"rejected","chosen_value":null})"), "rejected");
  EXPECT_FALSE(told(R"({"status":"expired"})").has_value());
  EXPECT_FALSE(told(R"({"status":"sure"})").has_value());
}

}  // namespace
}  // namespace reeve::agents
