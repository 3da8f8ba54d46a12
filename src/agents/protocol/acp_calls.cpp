#include "agents/protocol/acp_calls.h"

#include <algorithm>
#include <utility>

#include "agents/protocol/json_members.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_open_calls = 1'024;
constexpr std::size_t max_open_bytes = 64UZ * 1024 * 1024;
constexpr std::size_t max_ended = 256;
constexpr std::size_t max_refused = 256;
constexpr std::size_t max_title = 16UZ * 1024;
constexpr std::size_t max_paths = 1'000;

// Some agents begin with an empty input.
bool says_something(const Value& value) {
  return !value.is_null() && (value.as_object() == nullptr || !value.as_object()->empty());
}

void add_path(const Value& object, std::vector<std::string>& paths) {
  const auto path = find_absolute_path(object, "path");
  const bool is_new = path && std::ranges::find(paths, *path) == paths.end();
  if (is_new && paths.size() < max_paths) paths.push_back(*path);
}

// Describes a call whose input the agent does not show, as Gemini. The title is words for people and is never taken for
// a command, which it need not be.
Value describe(const std::string& title, const Value& content, const Value& locations) {
  Value arguments = Value::object();
  if (!title.empty()) arguments.set("title", Value::string(title));
  std::vector<std::string> paths;
  const Value* text = nullptr;
  std::size_t diffs = 0;
  for (const Value& part : elements_of(content)) {
    if (json::text_of(part, "type") != "diff") continue;
    ++diffs;
    add_path(part, paths);
    text = &member_of(part, "newText");
  }
  for (const Value& location : elements_of(locations)) add_path(location, paths);
  if (paths.size() == 1) {
    arguments.set("path", Value::string(paths.front()));
    if (diffs == 1 && text->as_string() != nullptr) arguments.set("content", *text);
    return arguments;
  }
  if (paths.empty()) return arguments;
  Value::Array list;
  for (const std::string& path : paths) list.push_back(Value::string(path));
  arguments.set("paths", Value::array(std::move(list)));
  if (diffs > 0) arguments.set("changes", content);
  return arguments;
}

bool is_over(const std::string& status) { return status == "completed" || status == "failed"; }

}  // namespace

AcpCalls::Fault AcpCalls::upsert(const std::string& id, const Value& fields, std::size_t bytes) {
  if (!calls_.contains(id) && calls_.size() >= max_open_calls) {
    return ProtocolFault{.reason = "more than 1,024 calls of the agent have no result"};
  }
  OpenCall& call = calls_[id];
  bytes_ -= call.bytes();
  const auto take = [&](std::string_view key, Field& field) {
    const Value& value = member_of(fields, key);
    if (says_something(value)) field = {.value = value, .bytes = bytes};
  };
  take("rawInput", call.input);
  take("content", call.content);
  take("locations", call.locations);
  bytes_ += call.bytes();
  ++call.messages;
  const std::string title = json::text_of(fields, "title");
  if (!title.empty() && title.size() <= max_title) call.title = title;
  if (std::string kind = id_text_of(fields, "kind"); !kind.empty()) call.kind = std::move(kind);
  // A request for permission may show less of the input than was announced.
  if (auto cwd = find_absolute_path(call.input.value, "cwd")) call.cwd = std::move(cwd);
  if (bytes_ <= max_open_bytes) return std::nullopt;
  return ProtocolFault{.reason = "more than 64 MiB of calls of the agent have no result"};
}

AcpCalls::Named AcpCalls::name(const std::string& id, const OpenCall& call) {
  Named named{.call = id, .tool = call.kind.empty() ? "other" : call.kind, .arguments = {}, .cwd = call.cwd};
  const Value& input = call.input.value;
  if (input.as_object() != nullptr) {
    named.arguments = input;
    return named;
  }
  named.arguments = describe(call.title, call.content.value, call.locations.value);
  if (!input.is_null()) named.arguments.set("input", input);
  return named;
}

void AcpCalls::announce(const std::string& id, OpenCall& call, Events& events) {
  if (std::exchange(call.is_announced, true)) return;
  Named named = name(id, call);
  events.emplace_back(
      CallAnnounced{.call = id, .tool = std::move(named.tool), .arguments = std::move(named.arguments)});
}

AcpCalls::Fault AcpCalls::update(const Value& fields, std::size_t bytes, Events& events) {
  const std::string id = id_text_of(fields, "toolCallId");
  if (id.empty() || (!calls_.contains(id) && std::ranges::find(ended_, id) != ended_.end())) return std::nullopt;
  if (auto fault = upsert(id, fields, bytes)) return fault;
  OpenCall& call = calls_[id];
  const std::string status = json::text_of(fields, "status");
  // The first message often comes before the input is known.
  const bool is_started = status == "in_progress" || call.messages > 1;
  if (is_started || is_over(status)) announce(id, call, events);
  if (is_over(status)) end(id, fields, events);
  return std::nullopt;
}

AcpCalls::Fault AcpCalls::ask(const Value& fields, std::size_t bytes, Events& events, std::optional<Named>& asked) {
  const std::string id = id_text_of(fields, "toolCallId");
  if (id.empty()) return std::nullopt;
  std::erase(ended_, id);
  if (auto fault = upsert(id, fields, bytes)) return fault;
  OpenCall& call = calls_[id];
  announce(id, call, events);
  asked = name(id, call);
  return std::nullopt;
}

void AcpCalls::deny(const std::string& call) {
  const auto found = calls_.find(call);
  if (found != calls_.end()) found->second.is_denied = true;
}

void AcpCalls::end(const std::string& id, const Value& fields, Events& events) {
  const auto found = calls_.find(id);
  CallEnded ended{.call = id};
  ended.has_failed = json::text_of(fields, "status") != "completed";
  ended.was_refused = ended.has_failed && found->second.is_denied;
  ValueDigest digest = digest_of(
      Value::object({{"content", found->second.content.value}, {"rawOutput", member_of(fields, "rawOutput")}}));
  ended.digest = std::move(digest.digest);
  ended.bytes = digest.bytes;
  if (ended.was_refused && refused_.size() < max_refused) refused_.push_back(id);
  bytes_ -= found->second.bytes();
  calls_.erase(found);
  ended_.push_back(id);
  if (ended_.size() > max_ended) ended_.pop_front();
  events.emplace_back(std::move(ended));
}

std::vector<std::string> AcpCalls::end_turn(Events& events) {
  const Value failed = Value::object({{"status", Value::string("failed")}});
  std::vector<std::string> denied;
  for (const auto& [id, call] : calls_) {
    if (call.is_denied) denied.push_back(id);
  }
  for (const std::string& id : denied) end(id, failed, events);
  calls_.clear();
  bytes_ = 0;
  return std::exchange(refused_, {});
}

}  // namespace reeve::agents
