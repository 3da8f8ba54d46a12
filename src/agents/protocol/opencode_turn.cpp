#include "agents/protocol/opencode_turn.h"

#include <utility>

#include "agents/protocol/agent_message.h"
#include "base/text.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::int64_t unauthorized = 401;
constexpr std::int64_t too_many_requests = 429;

}  // namespace

std::string describe_opencode_error(const Value& error) {
  const std::string message = json::text_of(member_of(error, "data"), "message");
  if (!message.empty()) return bounded_text(message);
  const std::string name = json::text_of(error, "name");
  return name.empty() ? "unknown error" : bounded_text(name);
}

void OpencodeTurn::begin() {
  is_open_ = true;
  is_interrupted_ = false;
  text_.clear();
  error_.clear();
}

void OpencodeTurn::on_message(const Value& info) {
  if (const auto id = name_of(info, "id")) {
    messages_.put(*id, is_true(info, "summary") || json::text_of(info, "mode") == "compaction");
  }
}

std::vector<AgentEvent> OpencodeTurn::on_text(const Value& part) {
  const auto id = name_of(part, "id");
  const auto message = name_of(part, "messageID");
  const bool is_whole = !member_of(member_of(part, "time"), "end").is_null();
  if (!id || !message || !is_whole || is_true(part, "synthetic") || is_true(part, "ignored")) return {};
  // Otherwise the message is a person's.
  const bool* is_summary = messages_.find(*message);
  std::string text = bounded_text(json::text_of(part, "text"));
  if (is_summary == nullptr || *is_summary || base::trim(text).empty() || said_.find(*id) != nullptr) return {};
  said_.put(*id, true);
  text_ = text;
  return {TextSaid{std::move(text)}};
}

OpencodeTurn::Error OpencodeTurn::on_error(const Value& error, bool is_of_server) {
  Error result;
  const std::string name = json::text_of(error, "name");
  std::string text = describe_opencode_error(error);
  const std::int64_t status = count_of(member_of(error, "data"), "statusCode");
  if (name == "ProviderAuthError" || status == unauthorized) {
    result.events.emplace_back(LoginMissing{text});
  } else if (status == too_many_requests) {
    result.events.emplace_back(LimitReached{text, std::nullopt});
  }
  // opencode continues after an error that names no session, and summarizes the session when the context is full.
  const bool goes_on = is_of_server || name == "ContextOverflowError";
  if (goes_on || (name == "MessageAbortedError" && is_interrupted_)) return result;
  error_ = std::move(text);
  result.ends_turn = true;
  return result;
}

std::vector<AgentEvent> OpencodeTurn::end(std::vector<std::string> refused) {
  if (!std::exchange(is_open_, false)) return {};
  TurnOver over;
  over.end = is_interrupted_ ? TurnEnd::interrupted : error_.empty() ? TurnEnd::completed : TurnEnd::failed;
  over.text = over.end == TurnEnd::failed ? error_ : text_;
  over.refused = std::move(refused);
  return {std::move(over)};
}

}  // namespace reeve::agents
