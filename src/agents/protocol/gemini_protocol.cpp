#include "agents/protocol/gemini_protocol.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "agents/protocol/agent_message.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_foreign_lines = 1000;
constexpr std::size_t max_open_calls = 1000;
constexpr std::size_t max_refused = 1000;

// Exit codes of Gemini CLI.
constexpr int exit_not_logged_in = 41;
constexpr int exit_cancelled = 130;

// Errors of calls that ended before the tool was started: blocked by the hook or a policy, or never valid.
constexpr auto errors_before_start =
    std::to_array<std::string_view>({"policy_violation", "invalid_tool_params", "tool_not_registered"});
constexpr std::string_view blocked_text = "Tool execution blocked";

bool never_started(const Value& error) {
  const std::string type = json::text_of(error, "type");
  // The message can be that of the tool.
  if (type.empty()) return json::text_of(error, "message").starts_with(blocked_text);
  return std::ranges::find(errors_before_start, type) != errors_before_start.end();
}

bool is_limit(std::string_view type, std::string_view text) {
  return type.contains("QuotaError") || text.contains("exhausted your daily quota") ||
         text.contains("exhausted your capacity");
}

class GeminiProtocol final : public AgentProtocol {
 public:
  AgentReaction begin() override { return {}; }
  AgentReaction on_line(std::string_view line) override;
  // The hook is answered instead.
  AgentReaction answer(std::uint64_t, const CallAnswer&) override { return {}; }
  // Its standard input is closed: only the end of the process ends a turn, and only another process takes a prompt.
  AgentReaction interrupt() override { return {}; }
  AgentReaction say(std::string_view) override { return {}; }

  ReleaseWay release_way() const override { return ReleaseWay::end; }
  GateReach reach() const override { return GateReach::gated; }
  AgentReaction on_error_line(std::string_view line) override;
  // Gemini announces all calls of a message before it starts the first, and names none of them to the hook.
  bool may_release(std::string_view) const override {
    return open_calls_.size() == 1 && open_calls_.begin()->second == 1;
  }

  AgentReaction on_exit(int exit_code) override;

 private:
  void fail(AgentReaction& reaction, std::string reason);
  void on_message(AgentReaction& reaction, const Value& line);
  void on_call(AgentReaction& reaction, const Value& line);
  void on_call_result(AgentReaction& reaction, const Value& line);
  void on_result(AgentReaction& reaction, const Value& line);
  // The text whose pieces have arrived.
  void end_text(AgentReaction& reaction);
  void end_turn(AgentReaction& reaction, TurnEnd end, std::string text);

  bool is_dead_ = false;
  bool is_over_ = false;
  bool has_login_problem_ = false;
  std::size_t foreign_lines_ = 0;
  // Announced and not ended, by id, with how many have it.
  std::map<std::string, std::size_t, std::less<>> open_calls_;
  std::vector<std::string> refused_;
  // Pieces of a text that has not ended.
  std::string piece_;
  std::string last_text_;
  std::string last_error_;
};

void GeminiProtocol::fail(AgentReaction& reaction, std::string reason) {
  is_dead_ = true;
  reaction.events.emplace_back(ProtocolFault{std::move(reason)});
}

AgentReaction GeminiProtocol::on_line(std::string_view line) {
  AgentReaction reaction;
  if (is_dead_ || base::trim(line).empty()) return reaction;
  if (line.size() > max_agent_line) {
    fail(reaction, "a line of Gemini CLI is longer than 16 MiB");
    return reaction;
  }
  const auto message = parse_message(line);
  if (!message || message->as_object() == nullptr) {
    if (++foreign_lines_ > max_foreign_lines) fail(reaction, "Gemini CLI does not write stream-json");
    return reaction;
  }
  const std::string type = json::text_of(*message, "type");
  const bool continues_text = type == "message" && is_true(*message, "delta");
  if (!continues_text) end_text(reaction);
  if (type == "init") {
    const auto session = name_of(*message, "session_id");
    if (session) reaction.events.emplace_back(SessionOpened{*session, std::nullopt, name_of(*message, "model")});
  } else if (type == "message") {
    on_message(reaction, *message);
  } else if (type == "tool_use") {
    on_call(reaction, *message);
  } else if (type == "tool_result") {
    on_call_result(reaction, *message);
  } else if (type == "error") {
    last_error_ = bounded_text(json::text_of(*message, "message"));
  } else if (type == "result") {
    on_result(reaction, *message);
  }
  return reaction;
}

void GeminiProtocol::on_message(AgentReaction& reaction, const Value& line) {
  if (json::text_of(line, "role") != "assistant") return;
  const std::string text = json::text_of(line, "content");
  piece_ += base::truncate_utf8(text, max_event_text - std::min(piece_.size(), max_event_text));
  if (!is_true(line, "delta")) end_text(reaction);
}

void GeminiProtocol::end_text(AgentReaction& reaction) {
  std::string text = bounded_text(std::exchange(piece_, {}));
  if (base::trim(text).empty()) return;
  last_text_ = text;
  reaction.events.emplace_back(TextSaid{std::move(text)});
}

void GeminiProtocol::on_call(AgentReaction& reaction, const Value& line) {
  const auto id = name_of(line, "tool_id");
  if (!id) {
    fail(reaction, "Gemini CLI announced a tool call without an id");
    return;
  }
  if (open_calls_.size() >= max_open_calls) {
    fail(reaction, fmt::format("Gemini CLI has over {} tool calls open", max_open_calls));
    return;
  }
  ++open_calls_[*id];
  const Value& parameters = member_of(line, "parameters");
  reaction.events.emplace_back(CallAnnounced{*id, name_of(line, "tool_name").value_or("unknown"),
                                             parameters.as_object() != nullptr ? parameters : Value::object(),
                                             std::nullopt});
}

void GeminiProtocol::on_call_result(AgentReaction& reaction, const Value& line) {
  const auto id = name_of(line, "tool_id");
  if (!id) {
    fail(reaction, "Gemini CLI reported the result of a tool call without an id");
    return;
  }
  if (const auto open = open_calls_.find(*id); open != open_calls_.end() && --open->second == 0) {
    open_calls_.erase(open);
  }
  const Value& error = member_of(line, "error");
  const Value& output = member_of(line, "output");
  const std::string text = output.as_string() != nullptr ? *output.as_string() : json::text_of(error, "message");
  CallEnded ended;
  ended.call = *id;
  // A call that was blocked is an error, too; only success is success.
  ended.has_failed = json::text_of(line, "status") != "success" || !error.is_null();
  ended.was_refused = ended.has_failed && never_started(error);
  ended.digest = result_digest(text);
  ended.bytes = static_cast<std::int64_t>(text.size());
  if (ended.was_refused && refused_.size() < max_refused) refused_.push_back(*id);
  reaction.events.emplace_back(std::move(ended));
}

void GeminiProtocol::on_result(AgentReaction& reaction, const Value& line) {
  if (is_over_) return;
  const Value& stats = member_of(line, "stats");
  if (stats.as_object() != nullptr) {
    UsageTotals totals;
    totals.input_tokens = count_of(stats, "input_tokens");
    totals.output_tokens = count_of(stats, "output_tokens");
    totals.cached_tokens = count_of(stats, "cached");
    reaction.events.emplace_back(std::move(totals));
  }
  const Value& error = member_of(line, "error");
  const std::string type = json::text_of(error, "type");
  std::string text = bounded_text(json::text_of(error, "message"));
  if (text.empty()) text = last_error_;
  if (json::text_of(line, "status") == "success") {
    // An agent that stopped for an error says "success" all the same.
    const bool has_answer = !last_text_.empty() || last_error_.empty();
    end_turn(reaction, has_answer ? TurnEnd::completed : TurnEnd::failed, has_answer ? last_text_ : last_error_);
    return;
  }
  if (is_limit(type, text)) reaction.events.emplace_back(LimitReached{text, std::nullopt});
  if (type == "FatalAuthenticationError" && !std::exchange(has_login_problem_, true)) {
    reaction.events.emplace_back(LoginMissing{text});
  }
  end_turn(reaction, TurnEnd::failed, text.empty() ? "Gemini CLI failed without a reason" : text);
}

void GeminiProtocol::end_turn(AgentReaction& reaction, TurnEnd end, std::string text) {
  if (std::exchange(is_over_, true)) return;
  reaction.events.emplace_back(TurnOver{end, std::move(text), std::exchange(refused_, {})});
}

// Without its settings it has no hook. It says so before it does anything.
AgentReaction GeminiProtocol::on_error_line(std::string_view line) {
  AgentReaction reaction;
  if (is_dead_ || line.find("Skipping system settings") == std::string_view::npos) return reaction;
  is_dead_ = true;
  reaction.events.emplace_back(
      ProtocolFault{.reason = "Gemini CLI refuses the settings of this run, and with them Reeve's hook: a folder above "
                              "the state folder is writable by others",
                    .is_ungated = true});
  return reaction;
}

AgentReaction GeminiProtocol::on_exit(int exit_code) {
  AgentReaction reaction;
  if (is_dead_) return reaction;
  end_text(reaction);
  if (exit_code == exit_not_logged_in && !std::exchange(has_login_problem_, true)) {
    reaction.events.emplace_back(LoginMissing{last_error_.empty() ? "Gemini CLI is not logged in" : last_error_});
  }
  const std::string reason =
      last_error_.empty() ? fmt::format("Gemini CLI exited with code {} without a result", exit_code) : last_error_;
  end_turn(reaction, exit_code == exit_cancelled ? TurnEnd::interrupted : TurnEnd::failed, reason);
  return reaction;
}

}  // namespace

std::unique_ptr<AgentProtocol> make_gemini_protocol(const AgentSetup&) { return std::make_unique<GeminiProtocol>(); }

}  // namespace reeve::agents
