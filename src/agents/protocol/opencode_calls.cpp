#include "agents/protocol/opencode_calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "agents/protocol/agent_message.h"
#include "agents/protocol/opencode_requests.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_open_calls = 512;
constexpr std::size_t max_open_requests = 256;
constexpr std::size_t max_kept_bytes = 64UZ * 1024 * 1024;
constexpr std::size_t max_refused = 1000;

// Tools that ask for permission before they do anything: an error of one that was not allowed means that it never ran.
constexpr auto asking_tools = std::to_array<std::string_view>(
    {"bash",  "read", "edit",     "write",      "multiedit",  "patch", "apply_patch", "glob",
     "grep",  "list", "webfetch", "websearch",  "codesearch", "task",  "todowrite",   "todoread",
     "skill", "lsp",  "question", "plan_enter", "plan_exit",  "batch"});
// Stands for a call of a tool that does not exist or with arguments that do not fit; it only says so.
constexpr std::string_view invalid_tool = "invalid";
// The tools that ask for the permission `edit`.
constexpr auto edit_tools = std::to_array<std::string_view>({"edit", "write", "multiedit", "patch", "apply_patch"});

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_own_permission(std::string_view tool, std::string_view permission) {
  return tool == permission || (permission == "edit" && contains(edit_tools, tool));
}

std::string key_of(std::string_view message, std::string_view call) { return fmt::format("{}\n{}", message, call); }

// What the server says about the request itself.
Value describe_request(const Value& request) {
  Value arguments = Value::object({{"patterns", member_of(request, "patterns")}});
  if (const Value::Object* metadata = member_of(request, "metadata").as_object()) {
    for (const base::Member& member : *metadata) {
      if (arguments.find(member.key) == nullptr) arguments.set(member.key, member.value);
    }
  }
  return arguments;
}

bool has_failed(std::string_view status, const Value& state) {
  if (status == "error") return true;
  const std::int64_t* exit = member_of(member_of(state, "metadata"), "exit").as_integer();
  return exit != nullptr && *exit != 0;
}

}  // namespace

std::vector<AgentEvent> OpencodeCalls::on_part(const Value& part, std::size_t bytes,
                                               const std::optional<std::string>& parent) {
  std::vector<AgentEvent> events;
  const Value& state = member_of(part, "state");
  const std::string status = json::text_of(state, "status");
  const bool is_over = status == "completed" || status == "error";
  if (!is_over && status != "running" && status != "pending") return events;
  const auto id = name_of(part, "callID");
  const auto message = name_of(part, "messageID");
  if (!id || !message) {
    events.emplace_back(ProtocolFault{"opencode reported a tool call without an id", true});
    return events;
  }
  const std::string key = key_of(*message, *id);
  if (ended_.find(key) != nullptr) return events;
  // A later compaction touches calls of earlier processes again.
  const bool is_old = !calls_.contains(key) && !member_of(member_of(state, "time"), "compacted").is_null();
  if (is_old) return events;
  Call* call = open_call(key, *id, part, events);
  if (call == nullptr || status == "pending") return events;
  if (!take_input(*call, state, bytes, events)) return events;
  if (!std::exchange(call->is_announced, true)) {
    events.emplace_back(CallAnnounced{call->id, call->tool, call->has_input ? call->input : Value::object(), parent});
  }
  if (is_over) end_call(key, state, events);
  return events;
}

OpencodeCalls::Call* OpencodeCalls::open_call(const std::string& key, const std::string& id, const Value& part,
                                              std::vector<AgentEvent>& events) {
  if (const auto found = calls_.find(key); found != calls_.end()) return &found->second;
  if (calls_.size() >= max_open_calls) {
    events.emplace_back(ProtocolFault{fmt::format("opencode has over {} tool calls open", max_open_calls)});
    return nullptr;
  }
  Call call;
  call.id = report_id(key, id, json::text_of(part, "messageID"));
  call.tool = name_of(part, "tool").value_or("unknown");
  // It can be asked about before it is shown.
  for (const auto& [request, answered] : answered_.entries()) {
    if (answered.request.key == key) (answered.is_allowed ? call.was_allowed : call.was_rejected) = true;
  }
  return &calls_.emplace(key, std::move(call)).first->second;
}

std::string OpencodeCalls::report_id(const std::string& key, const std::string& id, std::string_view message) {
  // Some model services number the calls of each message from 0.
  const std::string* taken = reported_.find(id);
  std::string reported = taken == nullptr || *taken == key ? id : fmt::format("{}@{}", id, message);
  reported_.put(reported, key);
  return reported;
}

bool OpencodeCalls::take_input(Call& call, const Value& state, std::size_t bytes, std::vector<AgentEvent>& events) {
  const Value& input = member_of(state, "input");
  if (call.has_input || input.as_object() == nullptr) return true;
  if (kept_bytes_ + bytes > max_kept_bytes) {
    events.emplace_back(ProtocolFault{"the open tool calls of opencode are larger than 64 MiB"});
    return false;
  }
  call.input = input;
  call.has_input = true;
  call.bytes = bytes;
  kept_bytes_ += bytes;
  return true;
}

void OpencodeCalls::end_call(const std::string& key, const Value& state, std::vector<AgentEvent>& events) {
  auto node = calls_.extract(key);
  const Call& call = node.mapped();
  kept_bytes_ -= call.bytes;
  ended_.put(key, true);
  bool was_waiting = false;
  for (auto request = requests_.begin(); request != requests_.end();) {
    if (request->second.key != key) {
      ++request;
      continue;
    }
    was_waiting = true;
    events.emplace_back(CallWithdrawn{request->second.ticket, request->second.call});
    request = requests_.erase(request);
  }
  const std::string status = json::text_of(state, "status");
  const Value& result = member_of(state, status == "error" ? "error" : "output");
  const std::string text = result.as_string() != nullptr ? *result.as_string() : json::encode_canonical(result);
  CallEnded ended;
  ended.call = call.id;
  ended.has_failed = has_failed(status, state);
  const bool never_ran = call.was_rejected || was_waiting || (!call.was_allowed && contains(asking_tools, call.tool));
  ended.was_refused = call.tool == invalid_tool || (status == "error" && never_ran);
  ended.digest = result_digest(text);
  ended.bytes = static_cast<std::int64_t>(text.size());
  if (ended.was_refused) note_refused(call.id);
  events.emplace_back(std::move(ended));
}

OpencodeCalls::Request OpencodeCalls::make_request(const Value& request, CallAsked& asked) {
  const std::string id = json::text_of(request, "id");
  const std::string permission = name_of(request, "permission").value_or("unknown");
  const Value& tool = member_of(request, "tool");
  const auto call = name_of(tool, "callID");
  Request made{.ticket = ++last_ticket_,
               .call = call.value_or(id),
               .key = key_of(json::text_of(tool, "messageID"), call.value_or("")),
               .session = json::text_of(request, "sessionID")};
  asked.tool = permission;
  asked.arguments = describe_request(request);
  const auto found = calls_.find(made.key);
  if (found != calls_.end()) {
    const Call& known = found->second;
    made.call = known.id;
    made.is_own = is_own_permission(known.tool, permission);
    if (made.is_own) {
      asked.tool = known.tool;
      if (known.has_input) asked.arguments = known.input;
    } else {
      // A further question about the same call, such as whether it may leave the folder.
      made.call = fmt::format("{}:{}", known.id, permission);
      Value subject = Value::object({{"tool", Value::string(known.tool)}, {"input", known.input}});
      if (asked.arguments.find("call") == nullptr) asked.arguments.set("call", std::move(subject));
    }
  }
  asked.ticket = made.ticket;
  asked.call = made.call;
  return made;
}

OpencodeCalls::Asked OpencodeCalls::on_asked(const Value& request, bool is_foreign,
                                             const std::optional<std::string>& parent) {
  Asked result;
  const auto id = path_id_of(request, "id");
  if (!id) {
    result.events.emplace_back(ProtocolFault{"opencode asked for permission without an id"});
    return result;
  }
  if (requests_.contains(*id) || answered_.find(*id) != nullptr) return result;
  if (is_foreign || requests_.size() >= max_open_requests) {
    result.refused = id;
    result.reason =
        is_foreign ? "Reeve did not start this session." : "Too many tool calls wait for an answer; ask again later.";
    Request refused;
    refused.call = *id;
    refused.session = json::text_of(request, "sessionID");
    answered_.put(*id, {.is_allowed = false, .request = std::move(refused)});
    return result;
  }
  CallAsked asked;
  asked.parent = parent;
  requests_.emplace(*id, make_request(request, asked));
  result.events.emplace_back(std::move(asked));
  return result;
}

std::optional<std::string> OpencodeCalls::answer(std::uint64_t ticket, bool is_allowed) {
  const auto found = std::ranges::find_if(requests_, [&](const auto& one) { return one.second.ticket == ticket; });
  if (found == requests_.end()) return std::nullopt;
  auto node = requests_.extract(found);
  const Request& request = node.mapped();
  const auto call = calls_.find(request.key);
  if (!is_allowed) {
    reject_call(request.key);
  } else if (call != calls_.end() && request.is_own) {
    call->second.was_allowed = true;
  }
  answered_.put(node.key(), {.is_allowed = is_allowed, .request = request});
  return node.key();
}

void OpencodeCalls::reject_call(const std::string& key) {
  if (const auto call = calls_.find(key); call != calls_.end()) call->second.was_rejected = true;
}

bool OpencodeCalls::is_refused_by_server(const Request& request) const {
  return is_interrupted_ || std::ranges::any_of(answered_.entries(), [&](const auto& one) {
           return !one.second.is_allowed && one.second.request.session == request.session;
         });
}

std::vector<AgentEvent> OpencodeCalls::on_replied(const Value& reply, bool is_foreign) {
  const auto id = name_of(reply, "requestID");
  const std::string verdict = json::text_of(reply, "reply");
  std::vector<AgentEvent> events;
  if (!id) return events;
  if (const Answered* answered = answered_.find(*id)) {
    if (verdict == (answered->is_allowed ? "once" : "reject")) return events;
    if (verdict == "reject" && is_refused_by_server(answered->request)) {
      reject_call(answered->request.key);
    } else {
      events.emplace_back(AnsweredElsewhere{answered->request.call});
    }
    return events;
  }
  auto node = requests_.extract(*id);
  if (node.empty()) {
    if (!is_foreign) events.emplace_back(AnsweredElsewhere{*id});
    return events;
  }
  const Request& request = node.mapped();
  if (verdict == "reject" && is_refused_by_server(request)) {
    reject_call(request.key);
    events.emplace_back(CallWithdrawn{request.ticket, request.call});
  } else {
    events.emplace_back(AnsweredElsewhere{request.call});
  }
  return events;
}

bool OpencodeCalls::may_release(std::string_view call) const {
  if (requests_.size() != 1 || requests_.begin()->second.call != call) return false;
  const std::string& key = requests_.begin()->second.key;
  return std::ranges::all_of(calls_, [&](const auto& one) { return one.first == key; });
}

void OpencodeCalls::note_refused(const std::string& call) {
  if (refused_.size() < max_refused) refused_.push_back(call);
}

std::vector<std::string> OpencodeCalls::take_refused() { return std::exchange(refused_, {}); }

}  // namespace reeve::agents
