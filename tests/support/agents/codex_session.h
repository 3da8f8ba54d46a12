#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/codex_protocol.h"
#include "tests/support/agents/reactions.h"

namespace reeve::testing {

// The codec for Codex, and the messages of an app server that is in thread T and turn N.
class CodexSession : public ::testing::Test {
 protected:
  static constexpr const char* settings =
      R"("approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"workspaceWrite"})";

  agents::AgentReaction read(const std::string& line) { return protocol->on_line(line); }
  agents::AgentReaction notify(const std::string& method, const std::string& params) {
    return read(R"({"method":")" + method + R"(","params":)" + params + "}");
  }
  agents::AgentReaction request(const std::string& id, const std::string& method, const std::string& params) {
    return read(R"({"id":)" + id + R"(,"method":")" + method + R"(","params":)" + params + "}");
  }
  static std::string of_turn(const std::string& members) { return R"({"threadId":"T","turnId":"N",)" + members + "}"; }

  void start(const agents::AgentSetup& with) {
    protocol = agents::make_codex_protocol(with);
    protocol->begin();
    read(R"({"id":1,"result":{"userAgent":"reeve/0.166.0 Debian"
  }})");
  }
  // Up to the answer to `thread/start`.
  agents::AgentReaction open(const std::string& thread = std::string(R"({"thread":{"id":"T"},)") + settings + "}",
                             const std::string& config = R"({"config":{}})") {
    start(setup);
    const agents::AgentReaction reaction = read(R"({"id":2,"result":)" + config + "}");
    if (!reaction.events.empty()) return reaction;
    return read(R"({"id":3,"result":)" + thread + "}");
  }
  void run() {
    open();
    read(R"({"id":4,"result":{"turn":{"id":"N"}}})");
  }
  agents::AgentReaction start_item(const std::string& item) {
    return notify("item/started", of_turn(R"("item":)" + item));
  }
  agents::AgentReaction complete_item(const std::string& item) {
    return notify("item/completed", of_turn(R"("item":)" + item));
  }
  agents::AgentReaction end_turn(const std::string& members) {
    return notify("turn/completed", R"({"threadId":"T","turn":{"id":"N",)" + members + "}}");
  }
  // An announced command and the request about it; its ticket.
  agents::AgentReaction ask(const std::string& id = "0", const std::string& call = "c1") {
    start_item(R"({"type":"commandExecution","id":")" + call + R"(","command":"ls","cwd":"/work","status":"x"})");
    return request(id, "item/commandExecution/requestApproval",
                   of_turn(R"("itemId":")" + call + R"(","command":"ls","cwd":"/work")"));
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
