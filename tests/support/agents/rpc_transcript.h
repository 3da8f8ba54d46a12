#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agents/protocol/agent_protocol.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/tool_names.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"
#include "tests/support/files.h"

namespace reeve::testing {

// The agent's side of a recorded JSON-RPC session, played to a codec that answers as the recorded client did.
class RpcTranscript {
 public:
  RpcTranscript(const std::string& name, std::string dialect) : dialect_(std::move(dialect)) {
    std::string text = read_text(source_folder() / "tests/golden/agents/transcripts" / (name + ".jsonl"));
    replace_all(text, "$WORK", "/work/shop");
    replace_all(text, "$HOME", "/home/ana");
    // A session that the recorded client loaded would otherwise be resumed.
    if (name.ends_with(".load")) replace_all(text, "\"resume\": {}", "\"unresumed\": {}");
    for (const std::string_view line : base::split(text, '\n')) {
      if (line.empty()) continue;
      auto record = json::parse(line);
      EXPECT_TRUE(record.has_value()) << name;
      if (record) records_.push_back(std::move(*record));
    }
    for (const base::Value& record : records_) {
      const base::Value* message = record.find("msg");
      if (json::text_of(record, "dir") != "out" || message->find("id") == nullptr) continue;
      const std::string method = json::text_of(*message, "method");
      const std::string id = json::encode(*message->find("id"));
      if (method.empty()) {
        answers_[id] = *message;
      } else {
        methods_[id] = method;
      }
    }
  }

  // The agent's messages of the last play().
  const std::vector<base::Value>& fed() const { return fed_; }

  // The lines that the codec writes, each after ">", and its events.
  std::string play(agents::AgentProtocol& protocol) {
    fed_.clear();
    note(protocol, protocol.begin(), {});
    for (const base::Value& record : records_) {
      const base::Value* message = record.find("msg");
      if (json::text_of(record, "dir") != "in") continue;
      const base::Value* id = message->find("id");
      if (id == nullptr || message->find("method") != nullptr) {
        feed(protocol, *message);
        continue;
      }
      // An answer: to the codec's own request of that kind, if it made one.
      const auto sent = sent_.find(methods_[json::encode(*id)]);
      if (sent == sent_.end()) continue;
      base::Value answer = base::Value::object({{"id", sent->second}});
      for (const base::Member& member : *message->as_object()) {
        if (member.key != "id") answer.set(member.key, member.value);
      }
      feed(protocol, answer);
    }
    return std::exchange(log_, {});
  }

 private:
  static void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }

  void feed(agents::AgentProtocol& protocol, const base::Value& message) {
    fed_.push_back(message);
    note(protocol, protocol.on_line(json::encode(message)), message);
  }

  void note(agents::AgentProtocol& protocol, const agents::AgentReaction& reaction, const base::Value& message) {
    std::vector<agents::CallAsked> asked;
    for (const agents::AgentEvent& event : reaction.events) {
      log_ += describe(event) + "\n";
      if (const auto* call = std::get_if<agents::CallAsked>(&event)) asked.push_back(*call);
    }
    std::vector<base::Value> asks_for_settings;
    for (const std::string& line : reaction.lines) {
      log_ += "> " + line + "\n";
      const auto sent = json::parse(line);
      ASSERT_TRUE(sent.has_value()) << line;
      const std::string method = json::text_of(*sent, "method");
      if (method.empty() || sent->find("id") == nullptr) continue;
      sent_[method] = *sent->find("id");
      if (method == "config/read") asks_for_settings.push_back(*sent->find("id"));
    }
    if (reaction.closes_input) log_ += "closes input\n";
    for (const agents::CallAsked& call : asked) answer(protocol, call, message);
    // Recorded clients did not ask.
    for (const base::Value& id : asks_for_settings) {
      const base::Value settings = base::Value::object({{"config", base::Value::object()}});
      feed(protocol, base::Value::object({{"id", id}, {"result", settings}}));
    }
  }

  void answer(agents::AgentProtocol& protocol, const agents::CallAsked& call, const base::Value& request) {
    const auto recorded = answers_.find(json::encode(*request.find("id")));
    ASSERT_NE(recorded, answers_.end()) << call.call;
    const base::Value* result = recorded->second.find("result");
    std::string word = json::text_of(*result, "decision");
    if (const base::Value* outcome = result->find("outcome")) word = kind_of(request, *outcome);
    if (word == "cancelled") return note(protocol, protocol.interrupt(), {});
    const bool is_allowed = word == "accept" || word.starts_with("allow");
    const auto verdict = is_allowed         ? agents::CallVerdict::allow
                         : word == "cancel" ? agents::CallVerdict::defer
                                            : agents::CallVerdict::deny;
    note(protocol, protocol.answer(call.ticket, {.verdict = verdict, .reason = is_allowed ? "" : "not today"}), {});
  }

  // The kind of the option that the recorded client chose.
  static std::string kind_of(const base::Value& request, const base::Value& outcome) {
    const std::string chosen = json::text_of(outcome, "optionId");
    if (chosen.empty()) return json::text_of(outcome, "outcome");
    for (const base::Value& option : *request.find("params")->find("options")->as_array()) {
      if (json::text_of(option, "optionId") == chosen) return json::text_of(option, "kind");
    }
    return {};
  }

  std::string describe(const agents::AgentEvent& event) const {
    return std::visit([&](const auto& one) { return describe_one(one); }, event);
  }
  static std::string describe_one(const agents::SessionOpened& event) {
    return fmt::format("session {} version {} model {}", event.session, event.version.value_or("-"),
                       event.model.value_or("-"));
  }
  static std::string describe_one(const agents::TextSaid& event) { return "text " + base::visible(event.text); }
  static std::string describe_one(const agents::CallAnnounced& event) {
    return fmt::format("announced {} {} {}", event.call, event.tool, json::encode(event.arguments));
  }
  std::string describe_one(const agents::CallAsked& event) const {
    const engine::NamedCall named = engine::name_call(dialect_, event.tool, event.arguments, event.cwd.value_or("/"));
    return fmt::format("asked {} {} in {} = {} {}", event.call, event.tool, event.cwd.value_or("-"), named.tool,
                       json::encode(named.arguments));
  }
  static std::string describe_one(const agents::CallWithdrawn& event) { return "withdrawn " + event.call; }
  static std::string describe_one(const agents::CallEnded& event) {
    return fmt::format("ended {}{}{} {} bytes {}", event.call, event.has_failed ? " failed" : "",
                       event.was_refused ? " refused" : "", event.bytes, event.digest.substr(0, 15));
  }
  static std::string describe_one(const agents::UsageTotals& event) {
    return fmt::format("usage {}/{}/{}{} cost {}{} context {} of {}", event.input_tokens, event.output_tokens,
                       event.cached_tokens, event.tokens_are_of_session ? " of the session" : "",
                       event.cost_usd.value_or(-1), event.cost_is_of_session ? " of the session" : "",
                       event.context_used.value_or(-1), event.context_size.value_or(-1));
  }
  static std::string describe_one(const agents::LimitWindow& event) {
    return fmt::format("window {} {} %", event.name, event.used_percent.value_or(-1));
  }
  static std::string describe_one(const agents::LimitReached& event) {
    return fmt::format("limit {} {}", event.text, event.resets_at ? base::format_time(*event.resets_at) : "-");
  }
  static std::string describe_one(const agents::RetryNoted& event) {
    return fmt::format("retry {} {}", event.attempt, event.text);
  }
  static std::string describe_one(const agents::LoginMissing& event) { return "login " + event.text; }
  static std::string describe_one(const agents::AnsweredElsewhere& event) { return "answered elsewhere " + event.call; }
  static std::string describe_one(const agents::TurnOver& event) {
    static constexpr std::string_view ends[] = {"completed", "failed", "interrupted", "deferred"};
    return fmt::format("turn {} refused [{}] {}", ends[static_cast<std::size_t>(event.end)],
                       base::join(event.refused, " "), base::visible(event.text));
  }
  static std::string describe_one(const agents::ProtocolFault& event) {
    return fmt::format("fault{} {}", event.is_ungated ? " ungated" : "", event.reason);
  }

  std::string dialect_;
  std::vector<base::Value> records_;
  std::vector<base::Value> fed_;
  // Recorded requests of the client: id → method; and its answers to the agent.
  std::map<std::string, std::string> methods_;
  std::map<std::string, base::Value> answers_;
  // Requests of the codec: method → its latest id.
  std::map<std::string, base::Value> sent_;
  std::string log_;
};

}  // namespace reeve::testing
