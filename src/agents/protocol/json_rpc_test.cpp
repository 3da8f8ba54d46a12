#include "agents/protocol/json_rpc.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/agent_protocol.h"
#include "json/encode.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::HasSubstr;

TEST(JsonRpc, messages_say_their_version_or_not) {
  RpcClient plain(RpcVersion::left_out);
  EXPECT_EQ(plain.request("a/b", Value::object()), R"({"id":1,"method":"a/b","params":{}})");
  EXPECT_EQ(plain.notify("n"), R"({"method":"n"})");
  EXPECT_EQ(plain.respond(Value::integer(0), Value::object()), R"({"id":0,"result":{}})");
  RpcClient full(RpcVersion::sent);
  EXPECT_EQ(full.request("a", Value::object()), R"({"jsonrpc":"2.0","id":1,"method":"a","params":{}})");
  EXPECT_EQ(full.notify("n", Value::object()), R"({"jsonrpc":"2.0","method":"n","params":{}})");
  EXPECT_EQ(full.refuse(Value::string("x"), rpc_method_not_found, "no"),
            R"({"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}})");
}

TEST(JsonRpc, ids_are_echoed_exactly_as_they_came) {
  RpcClient client(RpcVersion::left_out);
  for (const std::string id : {"0", "7", "-1", "9223372036854775807", R"("")", R"("7")", R"("a\nb")"}) {
    const RpcMessage message = client.read(R"({"id":)" + id + R"(,"method":"m"})");
    const auto* request = std::get_if<RpcRequest>(&message);
    ASSERT_NE(request, nullptr) << id;
    EXPECT_EQ(json::encode(request->id), id);
    EXPECT_EQ(client.respond(request->id, {}), R"({"id":)" + id + R"(,"result":null})");
  }
}

TEST(JsonRpc, requests_without_a_usable_id_or_method_are_refused) {
  RpcClient client(RpcVersion::left_out);
  const std::string long_text = "\"" + std::string(1025, 'x') + "\"";
  for (const std::string& id : std::vector<std::string>{"null", "true", "1.5", "1e300", "[]", "{}", long_text}) {
    const RpcMessage message = client.read(R"({"id":)" + id + R"(,"method":"m","params":{}})");
    const auto* invalid = std::get_if<RpcInvalid>(&message);
    ASSERT_NE(invalid, nullptr) << id;
    EXPECT_THAT(invalid->line, HasSubstr(R"("id":null,"error":{"code":-32600)"));
  }
  for (const std::string& method : std::vector<std::string>{"7", "null", "[]", long_text}) {
    const RpcMessage message = client.read(R"({"id":5,"method":)" + method + "}");
    const auto* invalid = std::get_if<RpcInvalid>(&message);
    ASSERT_NE(invalid, nullptr) << method;
    EXPECT_THAT(invalid->line, HasSubstr(R"("id":5,"error")"));
  }
}

TEST(JsonRpc, parameters_that_are_no_object_are_empty) {
  RpcClient client(RpcVersion::left_out);
  for (const std::string params : {"null", "7", "[1]", R"("x")"}) {
    const RpcMessage message = client.read(R"({"method":"m","params":)" + params + "}");
    EXPECT_EQ(std::get<RpcNotification>(message).params, Value::object()) << params;
  }
}

TEST(JsonRpc, answers_are_recognised_once_and_only_by_own_ids) {
  RpcClient client(RpcVersion::left_out);
  static_cast<void>(client.request("first", Value::object()));
  static_cast<void>(client.request("second", Value::object()));
  for (const std::string id : {"3", "-1", R"("1")", "1.0", "null", "{}"}) {
    const RpcMessage message = client.read(R"({"id":)" + id + R"(,"result":{}})");
    EXPECT_TRUE(std::holds_alternative<RpcIgnored>(message)) << id;
  }
  RpcMessage message = client.read(R"({"id":2,"result":{"a":1}})");
  ASSERT_TRUE(std::holds_alternative<RpcAnswer>(message));
  EXPECT_EQ(std::get<RpcAnswer>(message).method, "second");
  EXPECT_EQ(json::encode(std::get<RpcAnswer>(message).result), R"({"a":1})");
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read(R"({"id":2,"result":{}})")));
  message = client.read(R"({"id":1,"error":{"code":-5,"message":"no"}})");
  ASSERT_TRUE(std::get<RpcAnswer>(message).error.has_value());
  EXPECT_EQ(std::get<RpcAnswer>(message).error->code, -5);
  EXPECT_EQ(std::get<RpcAnswer>(message).error->message, "no");
}

TEST(JsonRpc, answer_without_a_result_is_an_error) {
  for (const std::string rest :
       {"", R"(,"error":null)", R"(,"error":"x")", R"(,"error":{"message":7})", R"(,"result":{},"error":{"code":1})"}) {
    RpcClient client(RpcVersion::left_out);
    static_cast<void>(client.request("m", Value::object()));
    const RpcMessage message = client.read(R"({"id":1)" + rest + "}");
    ASSERT_TRUE(std::holds_alternative<RpcAnswer>(message)) << rest;
    EXPECT_TRUE(std::get<RpcAnswer>(message).error.has_value()) << rest;
  }
}

TEST(JsonRpc, pending_requests_are_bounded) {
  RpcClient client(RpcVersion::left_out);
  for (std::size_t i = 0; i <= max_rpc_pending; ++i) static_cast<void>(client.request("m", Value::object()));
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read(R"({"id":1,"result":{}})")));
  EXPECT_TRUE(std::holds_alternative<RpcAnswer>(client.read(R"({"id":2,"result":{}})")));
}

TEST(JsonRpc, a_thousand_lines_of_noise_are_ignored) {
  RpcClient client(RpcVersion::left_out);
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read("  ")));
  for (std::size_t i = 0; i < max_rpc_noise; ++i) {
    EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read(i % 2 == 0 ? "npm warn x" : "[1]")));
  }
  const RpcMessage message = client.read("{}");
  ASSERT_TRUE(std::holds_alternative<RpcFault>(message));
  EXPECT_THAT(std::get<RpcFault>(message).reason, HasSubstr("over 1000 lines"));
}

TEST(JsonRpc, lines_that_are_too_long_or_too_deep_are_no_messages) {
  RpcClient client(RpcVersion::left_out);
  const std::string deep = R"({"method":"m","params":)" + std::string(5'000, '[');
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read(deep)));
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read(R"({"method":"m","method":"n"})")));
  EXPECT_TRUE(std::holds_alternative<RpcIgnored>(client.read("{\"method\":\"\xff\"}")));
  EXPECT_TRUE(std::holds_alternative<RpcFault>(client.read(std::string(max_agent_line + 1, ' '))));
}

}  // namespace
}  // namespace reeve::agents
