#pragma once

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "agents/protocol/agent_protocol.h"

// Lines as Claude Code prints them, and what a protocol makes of them.
namespace reeve::testing {

inline const std::string claude_init =
    R"({"type":"system","subtype":"init","session_id":"s-1","model":"opus","permissionMode":"default",)"
    R"("claude_code_version":"2.1.325"})";

inline std::string tool_use(const std::string& message, const std::string& call, const std::string& parent = "null") {
  return fmt::format(
      R"({{"type":"assistant","message":{{"id":"{}","content":[{{"type":"tool_use","id":"{}","name":"Bash",)"
      R"("input":{{"command":"ls"}}}}]}},"parent_tool_use_id":{}}})",
      message, call, parent);
}

inline std::string stream(const std::string& event, const std::string& parent = "null") {
  return fmt::format(R"({{"type":"stream_event","event":{},"parent_tool_use_id":{}}})", event, parent);
}
inline std::string starts(const std::string& message) {
  return stream(fmt::format(R"({{"type":"message_start","message":{{"id":"{}"}}}})", message));
}
inline const std::string starts_call = stream(R"({"type":"content_block_start","content_block":{"type":"tool_use"}})");
inline const std::string stops = stream(R"({"type":"message_stop"})");

inline std::string result_of(const std::string& call, bool is_error, const std::string& meta = "") {
  return fmt::format(
      R"({{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{}","content":"hi",)"
      R"("is_error":{}}}]}},"tool_result_meta":[{}]}})",
      call, is_error, meta);
}

inline std::string asks(const std::string& request, const std::string& call) {
  return fmt::format(
      R"({{"type":"control_request","request_id":"{}","request":{{"subtype":"can_use_tool","tool_name":"Bash",)"
      R"("input":{{"command":"ls"}},"tool_use_id":"{}"}}}})",
      request, call);
}

inline std::string turn(const std::string& members) { return R"({"type":"result",)" + members + "}"; }

inline agents::AgentReaction play(agents::AgentProtocol& protocol, std::initializer_list<std::string> lines) {
  agents::AgentReaction all;
  for (const std::string& line : lines) {
    agents::AgentReaction reaction = protocol.on_line(line);
    all.events.insert(all.events.end(), reaction.events.begin(), reaction.events.end());
    all.lines.insert(all.lines.end(), reaction.lines.begin(), reaction.lines.end());
    all.closes_input = all.closes_input || reaction.closes_input;
  }
  return all;
}

template <class Event>
std::vector<Event> only(const agents::AgentReaction& reaction) {
  std::vector<Event> found;
  for (const agents::AgentEvent& event : reaction.events) {
    if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
  }
  return found;
}

inline std::string claude_fault_of(const agents::AgentReaction& reaction) {
  const auto faults = only<agents::ProtocolFault>(reaction);
  if (faults.empty()) return "no fault";
  return (faults.front().is_ungated ? "ungated: " : "") + faults.front().reason;
}

}  // namespace reeve::testing
