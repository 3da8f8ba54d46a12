#include "agents/protocol/codex_calls.h"

#include <utility>

#include <fmt/format.h>

#include "agents/protocol/json_members.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_open_calls = 1'024;
constexpr std::size_t max_open_bytes = 64UZ * 1024 * 1024;
constexpr std::size_t max_refused = 256;

// The parts of the arguments that say what the call does.
bool is_same_call(const Value& left, const Value& right) {
  return member_of(left, "command") == member_of(right, "command") &&
         member_of(left, "changes") == member_of(right, "changes");
}

}  // namespace

CodexCalls::Fault CodexCalls::announce(const CodexCall& call, std::size_t bytes, Events& events) {
  if (calls_.contains(call.call)) return std::nullopt;
  if (calls_.size() >= max_open_calls || bytes > max_open_bytes - bytes_) {
    return ProtocolFault{.reason = "more than 1,024 calls or 64 MiB of calls of Codex have no result"};
  }
  calls_[call.call] = {.tool = call.tool, .arguments = call.arguments, .bytes = bytes};
  bytes_ += bytes;
  events.emplace_back(CallAnnounced{.call = call.call, .tool = call.tool, .arguments = call.arguments});
  return std::nullopt;
}

CodexCalls::Fault CodexCalls::start(const Value& item, std::size_t bytes, Events& events) {
  const auto call = find_codex_call(item);
  if (!call) return std::nullopt;
  const auto known = calls_.find(call->call);
  if (known == calls_.end()) return announce(*call, bytes, events);
  if (known->second.tool == call->tool && is_same_call(known->second.arguments, call->arguments)) return std::nullopt;
  return ProtocolFault{.reason = "Codex announced two calls with the same id", .is_ungated = true};
}

CodexCalls::Fault CodexCalls::complete(const Value& item, std::size_t bytes, Events& events) {
  const auto call = find_codex_call(item);
  if (!call) return std::nullopt;
  // A result of what nobody announced is counted too.
  if (auto fault = announce(*call, bytes, events)) return fault;
  const auto known = calls_.find(call->call);
  bytes_ -= known->second.bytes;
  calls_.erase(known);
  CallEnded ended = describe_codex_end(item);
  if (ended.was_refused && refused_.size() < max_refused) refused_.push_back(ended.call);
  events.emplace_back(std::move(ended));
  return std::nullopt;
}

CodexCalls::Fault CodexCalls::change(const Value& params, bool is_asked, std::size_t bytes) {
  const auto known = calls_.find(id_text_of(params, "itemId"));
  if (known == calls_.end() || known->second.tool != codex_change_item) return std::nullopt;
  Value changes = Value::object({{"changes", member_of(params, "changes")}});
  if (is_same_call(known->second.arguments, changes)) return std::nullopt;
  if (is_asked) {
    return ProtocolFault{.reason = "Codex altered a change of files while its approval was open", .is_ungated = true};
  }
  bytes_ = bytes_ - known->second.bytes + bytes;
  known->second.bytes = bytes;
  known->second.arguments = std::move(changes);
  if (bytes_ <= max_open_bytes) return std::nullopt;
  return ProtocolFault{.reason = "more than 64 MiB of calls of Codex have no result"};
}

void CodexCalls::type(const Value& params, Events& events) {
  const std::string* typed = member_of(params, "stdin").as_string();
  if (typed == nullptr || typed->empty()) return;  // Codex only looks for output.
  const std::string parent = id_text_of(params, "itemId");
  const std::string call = fmt::format("{}:{}:{}", codex_typing, parent, ++typings_);
  Value arguments = Value::object({{"stdin", Value::string(event_text(*typed))}});
  const ValueDigest digest = digest_of(arguments);
  events.emplace_back(CallAnnounced{
      .call = call, .tool = std::string(codex_typing), .arguments = std::move(arguments), .parent = parent});
  events.emplace_back(CallEnded{.call = call, .digest = digest.digest, .bytes = digest.bytes});
}

const Value& CodexCalls::find_arguments(const std::string& call) const {
  static const Value none;
  const auto known = calls_.find(call);
  return known != calls_.end() ? known->second.arguments : none;
}

std::vector<std::string> CodexCalls::take_refused() { return std::exchange(refused_, {}); }

}  // namespace reeve::agents
