#include "agents/protocol/json_rpc.h"

#include <utility>

#include <fmt/format.h>

#include "agents/protocol/agent_protocol.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_error_text = 4096;

bool is_id(const Value& id) {
  const std::string* text = id.as_string();
  return id.as_integer() != nullptr || (text != nullptr && text->size() <= max_rpc_name);
}

Value params_of(const Value& message) {
  const Value* params = message.find("params");
  return params != nullptr && params->as_object() != nullptr ? *params : Value::object();
}

RpcError read_error(const Value* error) {
  if (error == nullptr) return {.message = "the answer has neither a result nor an error"};
  std::string message(base::truncate_utf8(json::text_of(*error, "message"), max_error_text));
  if (message.empty()) message = "no reason was given";
  return {.code = json::integer_of(*error, "code").value_or(0), .message = std::move(message)};
}

}  // namespace

RpcMessage RpcClient::read(std::string_view line) {
  if (line.size() > max_agent_line) return RpcFault{"a message of the agent is longer than 16 MiB"};
  if (base::trim(line).empty()) return RpcIgnored{};
  const auto message = json::parse(line, {.bytes = max_agent_line});
  if (!message || message->as_object() == nullptr) return note_noise();
  const Value* method = message->find("method");
  const Value* id = message->find("id");
  if (method == nullptr) return id != nullptr ? read_answer(*message) : note_noise();
  const std::string* name = method->as_string();
  const bool is_named = name != nullptr && name->size() <= max_rpc_name;
  if (id == nullptr) {
    if (!is_named) return note_noise();
    return RpcNotification{.method = *name, .params = params_of(*message)};
  }
  // Without a usable id no answer reaches the right request, so that nothing is asked.
  if (!is_id(*id)) return RpcInvalid{refuse({}, rpc_invalid_request, "`id` is not a string or a whole number")};
  if (!is_named) return RpcInvalid{refuse(*id, rpc_invalid_request, "`method` is not a string of at most 1 KiB")};
  return RpcRequest{.id = *id, .method = *name, .params = params_of(*message)};
}

RpcMessage RpcClient::read_answer(const Value& message) {
  const std::int64_t* id = message.find("id")->as_integer();
  const auto found = id != nullptr ? pending_.find(*id) : pending_.end();
  if (found == pending_.end()) return RpcIgnored{};
  RpcAnswer answer{.method = std::move(found->second), .result = {}, .error = std::nullopt};
  pending_.erase(found);
  const Value* error = message.find("error");
  const Value* result = message.find("result");
  if (result == nullptr || (error != nullptr && !error->is_null())) {
    answer.error = read_error(error);
  } else {
    answer.result = *result;
  }
  return answer;
}

RpcMessage RpcClient::note_noise() {
  if (++noise_ <= max_rpc_noise) return RpcIgnored{};
  return RpcFault{fmt::format("the agent wrote over {} lines that are no messages", max_rpc_noise)};
}

Value RpcClient::start() const {
  Value message = Value::object();
  if (version_ == RpcVersion::sent) message.set("jsonrpc", Value::string("2.0"));
  return message;
}

std::string RpcClient::request(std::string_view method, Value params) {
  if (pending_.size() >= max_rpc_pending) pending_.erase(pending_.begin());
  const std::int64_t id = ++last_id_;
  pending_[id] = std::string(method);
  Value message = start();
  message.set("id", Value::integer(id));
  message.set("method", Value::string(method));
  message.set("params", std::move(params));
  return json::encode(message);
}

std::string RpcClient::notify(std::string_view method, std::optional<Value> params) const {
  Value message = start();
  message.set("method", Value::string(method));
  if (params) message.set("params", std::move(*params));
  return json::encode(message);
}

std::string RpcClient::respond(const Value& id, Value result) const {
  Value message = start();
  message.set("id", id);
  message.set("result", std::move(result));
  return json::encode(message);
}

std::string RpcClient::refuse(const Value& id, int code, std::string_view text) const {
  Value message = start();
  message.set("id", id);
  message.set("error", Value::object({{"code", Value::integer(code)}, {"message", Value::string(text)}}));
  return json::encode(message);
}

}  // namespace reeve::agents
