#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "agents/protocol/agent_protocol.h"
#include "json/encode.h"

// The reactions of an agent's protocol as lines of text, for golden files and comparisons.
namespace reeve::testing {

namespace detail {

inline std::string describe_optional(const char* key, const std::optional<std::string>& value) {
  return value ? fmt::format(" {}={}", key, *value) : "";
}
inline std::string describe_flag(const char* name, bool is_set) { return is_set ? fmt::format(" {}", name) : ""; }
inline std::string describe_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text;
}

struct DescribeEvent {
  std::string operator()(const agents::SessionOpened& event) const {
    return "session " + event.session + describe_optional("version", event.version) +
           describe_optional("model", event.model);
  }
  std::string operator()(const agents::TextSaid& event) const { return "text " + event.text; }
  std::string operator()(const agents::CallAnnounced& event) const {
    return fmt::format("announced {} {} {}{}", event.call, event.tool, json::encode(event.arguments),
                       describe_optional("parent", event.parent));
  }
  std::string operator()(const agents::CallAsked& event) const {
    return fmt::format("asked {} {} {} {}{}{}", event.ticket, event.call, event.tool, json::encode(event.arguments),
                       describe_optional("cwd", event.cwd), describe_optional("parent", event.parent));
  }
  std::string operator()(const agents::CallWithdrawn& event) const {
    return fmt::format("withdrawn {} {}", event.ticket, event.call);
  }
  std::string operator()(const agents::CallEnded& event) const {
    return fmt::format("ended {}{}{} {} bytes", event.call, describe_flag("failed", event.has_failed),
                       describe_flag("refused", event.was_refused), event.bytes);
  }
  std::string operator()(const agents::UsageTotals& event) const {
    std::string text =
        fmt::format("usage {} in, {} out, {} cached", event.input_tokens, event.output_tokens, event.cached_tokens);
    if (event.tokens_are_of_session) text += ", of the session";
    if (event.cost_usd) text += fmt::format(", {} USD", *event.cost_usd);
    if (event.context_used) text += fmt::format(", context {}", *event.context_used);
    return text;
  }
  std::string operator()(const agents::LimitWindow& event) const { return "window " + event.name; }
  std::string operator()(const agents::LimitReached& event) const { return "limit " + event.text; }
  std::string operator()(const agents::RetryNoted& event) const {
    return fmt::format("retry {} {}", event.attempt, event.text);
  }
  std::string operator()(const agents::LoginMissing& event) const { return "login missing: " + event.text; }
  std::string operator()(const agents::AnsweredElsewhere& event) const { return "answered elsewhere " + event.call; }
  std::string operator()(const agents::TurnOver& event) const {
    static constexpr const char* ends[] = {"completed", "failed", "interrupted", "deferred"};
    return fmt::format("over {}: {}{}", ends[static_cast<int>(event.end)], event.text,
                       event.refused.empty() ? "" : ", refused" + describe_words(event.refused));
  }
  std::string operator()(const agents::ProtocolFault& event) const {
    return "fault " + event.reason + describe_flag("(ungated)", event.is_ungated);
  }
};

}  // namespace detail

inline std::string describe(const agents::AgentEvent& event) { return std::visit(detail::DescribeEvent{}, event); }

inline std::vector<std::string> describe(const agents::AgentReaction& reaction) {
  std::vector<std::string> lines;
  for (const agents::AgentEvent& event : reaction.events) lines.push_back(describe(event));
  for (const std::string& line : reaction.lines) lines.push_back("line " + line);
  for (const agents::AgentRequest& request : reaction.requests) {
    lines.push_back(fmt::format("request {} {} {}", request.method, request.target, request.body));
  }
  if (reaction.closes_input) lines.emplace_back("closes input");
  return lines;
}

}  // namespace reeve::testing
