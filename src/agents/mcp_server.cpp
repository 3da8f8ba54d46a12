#include "agents/mcp_server.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr int parse_error = -32700;
constexpr int invalid_request = -32600;
constexpr int method_not_found = -32601;
constexpr int too_many_requests = -32000;
constexpr int unsupported_revision = -32022;

// The newest first.
constexpr auto revisions = std::to_array<std::string_view>({"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"});
// The only revision with arrays of messages.
constexpr std::string_view batch_revision = "2025-03-26";

constexpr std::string_view revision_key = "io.modelcontextprotocol/protocolVersion";
constexpr std::size_t max_id = 1024;
constexpr std::size_t max_method = 256;
constexpr std::int64_t list_ttl_ms = 60'000;

Value answer_to(const Value& id, std::string_view key, Value content) {
  return Value::object({{"jsonrpc", Value::string("2.0")}, {"id", id}, {std::string(key), std::move(content)}});
}

Value make_error(const Value& id, int code, std::string_view message, Value data = {}) {
  Value error = Value::object({{"code", Value::integer(code)}, {"message", Value::string(message)}});
  if (!data.is_null()) error.set("data", std::move(data));
  return answer_to(id, "error", std::move(error));
}

bool is_id(const Value& id) {
  const std::string* text = id.as_string();
  return id.as_integer() != nullptr || (text != nullptr && text->size() <= max_id);
}

// The length of the string at the beginning, with its quotes; npos if it does not end.
std::size_t string_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// The length of the value at the beginning: up to the comma or bracket that ends it; npos if it does not end.
std::size_t value_length(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t length = string_length(text.substr(i));
      if (length == std::string_view::npos) return length;
      i += length - 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
      return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return std::string_view::npos;
}

// The member `id` of an object of which only the beginning is known; null if it is not in there, or is none.
Value find_leading_id(std::string_view text) {
  text = base::trim(text);
  if (!text.starts_with('{')) return {};
  while (!text.empty()) {
    text = base::trim(text.substr(1));
    const std::size_t key_length = text.starts_with('"') ? string_length(text) : std::string_view::npos;
    if (key_length == std::string_view::npos) return {};
    const std::string_view key = text.substr(0, key_length);
    text = base::trim(text.substr(key_length));
    if (!text.starts_with(':')) return {};
    text.remove_prefix(1);
    const std::size_t length = value_length(text);
    if (length == std::string_view::npos) return {};
    if (key == R"("id")") {
      const auto id = json::parse(base::trim(text.substr(0, length)));
      return id && is_id(*id) ? *id : Value();
    }
    text.remove_prefix(length);
    if (!text.starts_with(',')) return {};
  }
  return {};
}

const std::string* find_text(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr ? found->as_string() : nullptr;
}

// The revision that a stateless request declares.
const std::string* find_revision(const Value& params) {
  const Value* meta = params.find("_meta");
  return meta != nullptr ? find_text(*meta, revision_key) : nullptr;
}

Value complete(Value result, bool is_stateless) {
  if (is_stateless) result.set("resultType", Value::string("complete"));
  return result;
}

void set_cache(Value& result) {
  result.set("ttlMs", Value::integer(list_ttl_ms));
  result.set("cacheScope", Value::string("private"));
}

Value capabilities() { return Value::object({{"tools", Value::object()}}); }

Value describe_tools(const std::vector<wire::HostedTool>& tools) {
  Value::Array list;
  for (const wire::HostedTool& tool : tools) {
    list.push_back(Value::object({{"name", Value::string(tool.name)},
                                  {"description", Value::string(tool.description)},
                                  {"inputSchema", tool.input_schema}}));
  }
  return Value::object({{"tools", Value::array(std::move(list))}});
}

Value describe_result(const McpToolResult& result) {
  Value text = Value::object(
      {{"type", Value::string("text")}, {"text", Value::string(base::replace_invalid_utf8(result.text))}});
  return Value::object({{"content", Value::array({std::move(text)})}, {"isError", Value::boolean(result.is_error)}});
}

}  // namespace

bool is_mcp_revision(std::string_view text) noexcept {
  return text == stateless_mcp_revision || std::ranges::find(revisions, text) != revisions.end();
}

std::vector<std::string_view> mcp_revisions() {
  std::vector<std::string_view> all = {stateless_mcp_revision};
  all.insert(all.end(), revisions.begin(), revisions.end());
  return all;
}

McpReaction McpServer::on_long_line(std::string_view beginning) {
  const Value id = find_leading_id(beginning);
  const int code = id.is_null() ? parse_error : invalid_request;
  return {.lines = {json::encode(make_error(id, code, "the line is longer than 16 MiB"))}};
}

McpReaction McpServer::on_line(std::string_view line) {
  McpReaction reaction;
  if (base::trim(line).empty()) return reaction;
  const auto message = json::parse(line, {.bytes = max_mcp_line});
  if (!message) {
    reaction.lines.push_back(json::encode(make_error({}, parse_error, "not valid JSON: " + message.error().text())));
  } else if (const Value::Array* batch = message->as_array()) {
    on_batch(*batch, reaction);
  } else if (const auto answer = on_message(*message, std::nullopt, reaction)) {
    reaction.lines.push_back(json::encode(*answer));
  }
  return reaction;
}

void McpServer::on_batch(const Value::Array& messages, McpReaction& reaction) {
  const bool is_allowed = revision_ == batch_revision && !messages.empty() && messages.size() <= max_mcp_pending;
  if (!is_allowed) {
    const std::string_view why = revision_ != batch_revision ? "this revision has no batches"
                                 : messages.empty()          ? "the batch is empty"
                                                             : "the batch has over 64 messages";
    reaction.lines.push_back(json::encode(make_error({}, invalid_request, why)));
    return;
  }
  const std::uint64_t batch = ++last_batch_;
  // One more than its requests, until all have been read.
  batches_[batch].open = 1;
  for (const Value& message : messages) {
    const std::size_t work = reaction.work.size();
    auto answer = on_message(message, batch, reaction);
    if (answer) batches_[batch].answers.push_back(std::move(*answer));
    batches_[batch].open += reaction.work.size() - work;
  }
  if (auto line = add_to_batch(batch, std::nullopt)) reaction.lines.push_back(std::move(*line));
}

std::optional<Value> McpServer::on_message(const Value& message, std::optional<std::uint64_t> batch,
                                           McpReaction& reaction) {
  if (message.as_object() == nullptr) return make_error({}, invalid_request, "a message is an object");
  const Value* id = message.find("id");
  const Value known_id = id != nullptr && is_id(*id) ? *id : Value();
  const std::string* version = find_text(message, "jsonrpc");
  if (version == nullptr || *version != "2.0") return make_error(known_id, invalid_request, "`jsonrpc` is not \"2.0\"");
  const std::string* method = find_text(message, "method");
  if (method == nullptr) {
    // The client's answer to a request; this server sends none.
    const bool is_answer = message.find("result") != nullptr || message.find("error") != nullptr;
    if (is_answer && message.find("method") == nullptr) return std::nullopt;
    return make_error(known_id, invalid_request, "the message has no `method`");
  }
  if (method->size() > max_method) return make_error(known_id, invalid_request, "`method` is too long");
  const Value* found = message.find("params");
  const Value params = found != nullptr && !found->is_null() ? *found : Value::object();
  if (id == nullptr) {
    on_notification(*method, params, reaction);
    return std::nullopt;
  }
  if (!is_id(*id)) return make_error({}, invalid_request, "`id` is not a string or a whole number");
  if (params.as_object() == nullptr) return make_error(*id, mcp_invalid_params, "`params` is not an object");
  return on_request({.id = *id, .method = *method, .params = params, .batch = batch}, reaction);
}

std::optional<Value> McpServer::on_request(const Request& request, McpReaction& reaction) {
  Request read = request;
  if (const std::string* revision = find_revision(request.params)) {
    if (*revision != stateless_mcp_revision) {
      Value data = Value::object({{"supported", Value::array({Value::string(stateless_mcp_revision)})},
                                  {"requested", Value::string(*revision)}});
      return make_error(request.id, unsupported_revision, "unsupported protocol version", std::move(data));
    }
    read.is_stateless = true;
  }
  if (read.method == "initialize") return initialize(read);
  if (read.method == "server/discover") return discover(read);
  if (read.method == "ping") return answer_to(read.id, "result", complete(Value::object(), read.is_stateless));
  const bool is_work = read.method == "tools/list" || read.method == "tools/call";
  if (!is_work) {
    return make_error(read.id, method_not_found, fmt::format("no such method: {}", base::visible(read.method)));
  }
  if (!read.is_stateless && revision_.empty()) return make_error(read.id, invalid_request, "send `initialize` first");
  return start_work(read, reaction);
}

std::optional<Value> McpServer::start_work(const Request& request, McpReaction& reaction) {
  if (is_open(request.id)) return make_error(request.id, invalid_request, "a request with this id is open");
  if (pending_.size() >= max_mcp_pending) return make_error(request.id, too_many_requests, "64 requests are open");
  McpWork work;
  if (request.method == "tools/list") {
    if (request.params.find("cursor") != nullptr) {
      return make_error(request.id, mcp_invalid_params, "invalid `cursor`: the list has one page");
    }
  } else {
    const std::string* tool = find_text(request.params, "name");
    if (tool == nullptr) return make_error(request.id, mcp_invalid_params, "`name` is missing");
    const Value* arguments = request.params.find("arguments");
    const bool has_arguments = arguments != nullptr && !arguments->is_null();
    if (has_arguments && arguments->as_object() == nullptr) {
      return make_error(request.id, mcp_invalid_params, "`arguments` is not an object");
    }
    work.kind = McpWork::Kind::call_tool;
    work.tool = *tool;
    work.arguments = has_arguments ? *arguments : Value::object();
  }
  work.ticket = ++last_ticket_;
  pending_[work.ticket] = {.id = request.id, .is_stateless = request.is_stateless, .batch = request.batch};
  reaction.work.push_back(std::move(work));
  return std::nullopt;
}

void McpServer::on_notification(std::string_view method, const Value& params, McpReaction& reaction) {
  if (method != "notifications/cancelled") return;
  const Value* id = params.find("requestId");
  if (id == nullptr) return;
  const auto found = std::ranges::find_if(pending_, [&](const auto& entry) { return entry.second.id == *id; });
  if (found == pending_.end()) return;
  const std::optional<std::uint64_t> batch = found->second.batch;
  reaction.cancelled.push_back(found->first);
  pending_.erase(found);
  if (!batch) return;
  if (auto line = add_to_batch(*batch, std::nullopt)) reaction.lines.push_back(std::move(*line));
}

Value McpServer::initialize(const Request& request) {
  if (request.batch) return make_error(request.id, invalid_request, "`initialize` cannot be part of a batch");
  const std::string* asked = find_text(request.params, "protocolVersion");
  if (asked == nullptr) return make_error(request.id, mcp_invalid_params, "`protocolVersion` is missing");
  const bool is_known = std::ranges::find(revisions, *asked) != revisions.end();
  revision_ = is_known ? *asked : std::string(revisions.front());
  return answer_to(request.id, "result",
                   Value::object({{"protocolVersion", Value::string(revision_)},
                                  {"capabilities", capabilities()},
                                  {"serverInfo", server_info()}}));
}

Value McpServer::discover(const Request& request) const {
  Value result = Value::object({{"resultType", Value::string("complete")},
                                {"supportedVersions", Value::array({Value::string(stateless_mcp_revision)})},
                                {"capabilities", capabilities()}});
  set_cache(result);
  result.set("_meta", Value::object({{"io.modelcontextprotocol/serverInfo", server_info()}}));
  return answer_to(request.id, "result", std::move(result));
}

Value McpServer::server_info() const {
  return Value::object({{"name", Value::string("reeve")}, {"version", Value::string(version_)}});
}

bool McpServer::is_open(const Value& id) const {
  return std::ranges::any_of(pending_, [&](const auto& entry) { return entry.second.id == id; });
}

std::optional<std::string> McpServer::add_to_batch(std::uint64_t batch, std::optional<Value> answer) {
  const auto found = batches_.find(batch);
  if (found == batches_.end()) return std::nullopt;
  if (answer) found->second.answers.push_back(std::move(*answer));
  if (--found->second.open > 0) return std::nullopt;
  Value::Array answers = std::move(found->second.answers);
  batches_.erase(found);
  if (answers.empty()) return std::nullopt;
  return json::encode(Value::array(std::move(answers)));
}

std::optional<std::string> McpServer::finish(std::uint64_t ticket, const McpOutcome& outcome) {
  const auto found = pending_.find(ticket);
  if (found == pending_.end()) return std::nullopt;
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  Value answer;
  if (const auto* tools = std::get_if<std::vector<wire::HostedTool>>(&outcome)) {
    Value result = complete(describe_tools(*tools), pending.is_stateless);
    if (pending.is_stateless) set_cache(result);
    answer = answer_to(pending.id, "result", std::move(result));
  } else if (const auto* result = std::get_if<McpToolResult>(&outcome)) {
    answer = answer_to(pending.id, "result", complete(describe_result(*result), pending.is_stateless));
  } else {
    const auto& error = std::get<McpError>(outcome);
    answer = make_error(pending.id, error.code, base::replace_invalid_utf8(error.message));
  }
  if (pending.batch) return add_to_batch(*pending.batch, std::move(answer));
  return json::encode(answer);
}

}  // namespace reeve::agents
