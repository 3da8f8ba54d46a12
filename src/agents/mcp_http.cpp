#include "agents/mcp_http.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agents/mcp_server.h"
#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr int parse_error = -32700;
constexpr int header_mismatch = -32020;
constexpr int unsupported_revision = -32022;
// The first revision with this transport has no header.
constexpr std::string_view first_revision = "2025-03-26";

std::string make_fault(const Value& id, int code, std::string_view message, Value data = {}) {
  Value error = Value::object({{"code", Value::integer(code)}, {"message", Value::string(message)}});
  if (!data.is_null()) error.set("data", std::move(data));
  return json::encode(Value::object({{"jsonrpc", Value::string("2.0")}, {"id", id}, {"error", std::move(error)}}));
}

// The id of a request, to be repeated in its answer.
Value id_of(const Value& message) {
  constexpr std::size_t longest_id = 1024;
  const Value* id = message.find("id");
  if (id == nullptr) return {};
  const std::string* text = id->as_string();
  const bool is_valid = id->as_integer() != nullptr || (text != nullptr && text->size() <= longest_id);
  return is_valid ? *id : Value();
}

std::string revision_in(const Value& params) {
  const Value* meta = params.find("_meta");
  return meta != nullptr ? json::text_of(*meta, "io.modelcontextprotocol/protocolVersion") : std::string();
}

bool declares_revision(const Value& message) {
  const Value* params = message.find("params");
  return params != nullptr && !revision_in(*params).empty();
}

// A header that is missing, or says something else than the body.
std::optional<std::string> find_mismatch(const McpHead& head, const Value& message) {
  if (const Value::Array* batch = message.as_array()) {
    // No header could name all of its messages.
    const bool is_stateless = std::ranges::any_of(*batch, [](const Value& one) { return declares_revision(one); });
    return is_stateless ? std::optional<std::string>("this revision has no batches") : std::nullopt;
  }
  const std::string method = json::text_of(message, "method");
  const Value* found = message.find("params");
  const Value params = found != nullptr && found->as_object() != nullptr ? *found : Value::object();
  const std::string revision = revision_in(params);
  const bool is_stateless = !revision.empty() || head.revision == stateless_mcp_revision;
  if (!is_stateless || message.find("id") == nullptr || method.empty()) return std::nullopt;
  if (head.revision != revision) return "MCP-Protocol-Version does not match the message";
  if (head.method != method) return "Mcp-Method does not match the message";
  if (method == "tools/call" && head.name != json::text_of(params, "name"))
    return "Mcp-Name does not match the message";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_http_fault(const McpHead& head, std::string_view body) {
  const auto message = json::parse(body, {.bytes = max_mcp_body});
  if (!message) return make_fault({}, parse_error, "not valid JSON: " + message.error().text());
  const bool begins = json::text_of(*message, "method") == "initialize";
  // A newer client may offer its own revision before it knows that of the server.
  if (head.revision && !begins && !is_mcp_revision(*head.revision)) {
    Value::Array supported;
    for (const std::string_view revision : mcp_revisions()) supported.push_back(Value::string(revision));
    Value data = Value::object({{"supported", Value::array(std::move(supported))},
                                {"requested", Value::string(base::visible(*head.revision))}});
    return make_fault(id_of(*message), unsupported_revision, "unsupported protocol version", std::move(data));
  }
  const auto mismatch = find_mismatch(head, *message);
  return mismatch ? std::optional(make_fault(id_of(*message), header_mismatch, *mismatch)) : std::nullopt;
}

std::string agreed_revision(const McpHead& head) {
  if (!head.revision) return std::string(first_revision);
  return *head.revision == stateless_mcp_revision ? std::string() : *head.revision;
}

bool accepts_event_stream(std::string_view accept) {
  for (const std::string_view part : base::split(accept, ',')) {
    const std::string_view type = base::trim(part.substr(0, part.find(';')));
    if (base::to_ascii_lower(type) == "text/event-stream") return true;
  }
  return false;
}

std::string make_sse_message(std::string_view message) { return fmt::format("event: message\ndata: {}\n\n", message); }

}  // namespace reeve::agents
