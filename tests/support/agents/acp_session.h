#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agents/protocol/acp_protocol.h"
#include "agents/protocol/agent_protocol.h"
#include "tests/support/agents/reactions.h"

namespace reeve::testing {

// The codec for the Agent Client Protocol, and the messages of an agent with session S.
class AcpSession : public ::testing::Test {
 protected:
  static constexpr const char* once_and_reject =
      R"("options":[{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"},)"
      R"({"optionId":"once2","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}])";

  agents::AgentReaction read(const std::string& line) { return protocol->on_line(line); }
  agents::AgentReaction notify(const std::string& method, const std::string& params) {
    return read(R"({"jsonrpc":"2.0","method":")" + method + R"(","params":)" + params + "}");
  }
  agents::AgentReaction update(const std::string& members) {
    return notify("session/update", R"({"sessionId":"S","update":{)" + members + "}}");
  }
  agents::AgentReaction say(const std::string& text, const std::string& more = "") {
    return update(R"("sessionUpdate":"agent_message_chunk","content":{"type":"text","text":")" + text + "\"}" + more);
  }
  agents::AgentReaction request(const std::string& id, const std::string& method, const std::string& params) {
    return read(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}");
  }
  agents::AgentReaction ask(const std::string& call, const std::string& id = "0",
                            const std::string& options = once_and_reject) {
    return request(id, "session/request_permission", R"({"sessionId":"S","toolCall":)" + call + "," + options + "}");
  }
  agents::AgentReaction result(int id, const std::string& value) {
    return read(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":)" + value + "}");
  }

  // Up to the answer to `initialize`.
  agents::AgentReaction hello(const std::string& capabilities = R"({"sessionCapabilities":{"resume":{}}})") {
    protocol = agents::make_acp_protocol(setup);
    protocol->begin();
    return result(1, R"({"protocolVersion":1,"agentInfo":{"version":"1.2"},"agentCapabilities":)" + capabilities + "}");
  }
  agents::AgentReaction open(const std::string& session = R"({"sessionId":"S"})") {
    hello();
    return result(2, session);
  }
  static std::uint64_t ticket_of(const agents::AgentReaction& reaction) {
    const auto asked = events_of<agents::CallAsked>(reaction);
    EXPECT_EQ(asked.size(), 1U);
    return asked.empty() ? 0 : asked.front().ticket;
  }

  agents::AgentSetup setup{.folder = "/work", .prompt = "do it"};
  std::unique_ptr<agents::AgentProtocol> protocol;
};

}  // namespace reeve::testing
