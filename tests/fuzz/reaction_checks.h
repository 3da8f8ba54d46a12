#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/error.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::fuzz {

// What every reaction of an agent's protocol keeps to, whatever the agent writes.
class ReactionChecks {
 public:
  void check(const agents::AgentReaction& reaction) {
    REEVE_ASSERT(!is_dead_ || is_empty(reaction));
    for (const agents::AgentEvent& event : reaction.events) check_event(event);
    for (const std::string& line : reaction.lines) REEVE_ASSERT(line.find('\n') == std::string::npos);
    for (const agents::AgentRequest& request : reaction.requests) {
      REEVE_ASSERT(numbers_.insert(request.number).second);
      REEVE_ASSERT(request.target.starts_with('/'));
      for (const char c : request.target) REEVE_ASSERT(c > ' ' && c < 0x7f);
      REEVE_ASSERT(request.body.empty() || json::parse(request.body).has_value());
      open_requests.push_back(request.number);
    }
  }
  static bool is_empty(const agents::AgentReaction& reaction) {
    return reaction.events.empty() && reaction.lines.empty() && reaction.requests.empty() && !reaction.closes_input;
  }

  std::vector<std::uint64_t> open_requests;
  std::vector<std::uint64_t> tickets;

 private:
  void check_text(const std::string& text) {
    REEVE_ASSERT(text.size() <= agents::max_event_text);
    REEVE_ASSERT(!base::find_invalid_utf8(text));
  }
  void check_event(const agents::AgentEvent& event) {
    if (const auto* said = std::get_if<agents::TextSaid>(&event)) check_text(said->text);
    if (const auto* over = std::get_if<agents::TurnOver>(&event)) check_text(over->text);
    if (const auto* call = std::get_if<agents::CallAnnounced>(&event)) {
      REEVE_ASSERT(!call->call.empty() && !call->tool.empty());
      REEVE_ASSERT(json::parse(json::encode(call->arguments), {.bytes = 4 * agents::max_agent_line}).has_value());
    }
    if (const auto* asked = std::get_if<agents::CallAsked>(&event)) {
      REEVE_ASSERT(!asked->call.empty() && !asked->tool.empty());
      REEVE_ASSERT(tickets_.insert(asked->ticket).second);
      tickets.push_back(asked->ticket);
    }
    if (std::holds_alternative<agents::ProtocolFault>(event)) is_dead_ = true;
  }

  std::set<std::uint64_t> numbers_;
  std::set<std::uint64_t> tickets_;
  bool is_dead_ = false;
};

}  // namespace reeve::fuzz
