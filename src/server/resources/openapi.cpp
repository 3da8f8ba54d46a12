#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "server/contract/operations.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/problem.h"

// /api/openapi.json, generated from the operation tables and the described types.
namespace reeve::server {

namespace {

using base::Value;

Value text(std::string_view words) { return Value::string(words); }

Value described(std::string_view words) {
  Value made = Value::object();
  made.set("description", text(words));
  return made;
}

Value content(std::string_view type, Value schema) {
  return json::extended(Value::object(), type, json::extended(Value::object(), "schema", std::move(schema)));
}

Value parameter(std::string_view name, std::string_view place, Value schema, std::string_view about) {
  Value made = Value::object();
  made.set("name", text(name));
  made.set("in", text(place));
  made.set("required", Value::boolean(place == "path"));
  made.set("description", text(about));
  made.set("schema", std::move(schema));
  return made;
}

Value parameters(const Operation& operation) {
  Value::Array made;
  const std::size_t open = operation.path.find('{');
  if (open != std::string_view::npos) {
    const std::string_view name = operation.path.substr(open + 1, operation.path.find('}') - open - 1);
    made.push_back(parameter(name, "path", json::string_schema(), "id or name; ids are case-insensitive"));
  }
  for (const Parameter& one : operation.query) made.push_back(parameter(one.name, "query", one.schema, one.about));
  if (operation.is_tagged) {
    made.push_back(
        parameter("If-None-Match", "header", json::string_schema(), "an ETag; 304 if the response would be unchanged"));
  }
  if (operation.idempotency != IdempotencyMode::none) {
    Value key = json::string_schema();
    key.set("minLength", Value::integer(1));
    key.set("maxLength", Value::integer(255));
    made.push_back(parameter("Idempotency-Key", "header", std::move(key),
                             "a request repeated with the same key is performed once and gets the first response"));
    if (open != std::string_view::npos) {
      made.push_back(parameter("If-Match", "header", json::string_schema(),
                               "the ETag of the resource; 412 if the resource has changed since"));
    }
  }
  return Value::array(std::move(made));
}

void add_replies(const Operation& operation, std::map<int, Value>& responses) {
  for (const Reply& reply : operation.replies) {
    if (reply.status == 101) {
      responses.emplace(reply.status, described("the connection becomes a WebSocket"));
      continue;
    }
    Value& response = responses.try_emplace(reply.status, described("success")).first->second;
    if (reply.type.empty()) continue;
    Value kinds = Value::object();
    for (base::Member& member : *response.as_object()) {
      if (member.key == "content") kinds = std::move(member.value);
    }
    std::erase_if(*response.as_object(), [](const base::Member& member) { return member.key == "content"; });
    kinds.set(reply.type, json::extended(Value::object(), "schema", reply.schema));
    response.set("content", std::move(kinds));
  }
  if (!operation.is_tagged) return;
  Value tag = Value::object();
  tag.set("description", text("changes with the response; for If-None-Match and If-Match"));
  tag.set("schema", json::string_schema());
  responses.at(200).set("headers", json::extended(Value::object(), "ETag", std::move(tag)));
  responses.emplace(304, described("unchanged since the given ETag"));
}

void add_errors(const Operation& operation, std::map<int, Value>& responses) {
  std::map<int, std::vector<std::string>> by_status;
  for (const base::ErrorCode code : error_codes(operation)) {
    by_status[base::row_of(code).http_status].emplace_back(base::spell(code));
  }
  for (const auto& [status, codes] : by_status) {
    Value response = described(fmt::format("refused: {}", fmt::join(codes, ", ")));
    Value kinds = content("application/problem+json", json::reference_schema("Problem"));
    // An operation may have refusals of another form besides.
    if (const auto own = responses.find(status); own != responses.end() && status >= 400) {
      for (const base::Member& kind : *own->second.find("content")->as_object()) kinds.set(kind.key, kind.value);
      responses.erase(own);
    }
    response.set("content", std::move(kinds));
    Value::Array list;
    for (const std::string& code : codes) list.push_back(text(code));
    response.set("x-codes", Value::array(std::move(list)));
    responses.emplace(status, std::move(response));
  }
}

Value responses(const Operation& operation) {
  std::map<int, Value> by_status;
  add_replies(operation, by_status);
  add_errors(operation, by_status);
  Value made = Value::object();
  for (auto& [status, response] : by_status) made.set(std::to_string(status), std::move(response));
  Value other = described("any other error");
  other.set("content", content("application/problem+json", json::reference_schema("Problem")));
  made.set("default", std::move(other));
  return made;
}

// "/api/runs/{id}" belongs to `runs`, "/healthz" to `daemon`.
std::string tag_of(const Operation& operation) {
  const auto parts = base::split(operation.path, '/');
  return parts.size() > 2 && parts[1] == "api" ? std::string(parts[2]) : "daemon";
}

Value describe(const Operation& operation) {
  Value made = Value::object();
  made.set("operationId", text(operation.name));
  made.set("summary", text(operation.summary));
  made.set("tags", Value::array({text(tag_of(operation))}));
  made.set("parameters", parameters(operation));
  if (!operation.body.is_null()) {
    Value body = Value::object();
    body.set("content", content("application/json", operation.body));
    made.set("requestBody", std::move(body));
  }
  made.set("responses", responses(operation));
  made.set("x-scope", text(base::spell(operation.scope)));
  made.set("x-inside", text(base::spell(operation.inside)));
  return made;
}

Value problem_schema() {
  const Value maybe_text = json::nullable_schema(json::string_schema());
  const Value maybe_number = json::nullable_schema(json::extended(Value::object(), "type", text("integer")));
  return json::object_schema(
      {{"severity", json::word_schema({"error", "warning"})},
       {"code", json::string_schema()},
       {"message", json::string_schema()},
       {"file", maybe_text},
       {"line", maybe_number},
       {"column", maybe_number},
       {"length", maybe_number},
       {"hint", maybe_text},
       {"allowed", maybe_text},
       {"fix", maybe_text}},
      {"severity", "code", "message", "file", "line", "column", "length", "hint", "allowed", "fix"});
}

Value problem_document_schema() {
  Value status = json::extended(Value::object(), "type", text("integer"));
  return json::object_schema({{"type", json::string_schema("^urn:reeve:problem:")},
                              {"title", json::string_schema()},
                              {"status", std::move(status)},
                              {"code", json::string_schema("^[a-z_]+\\.[a-z_]+$")},
                              {"detail", json::string_schema()},
                              {"fix", json::nullable_schema(json::string_schema())},
                              {"errors", json::array_schema(json::reference_schema("FileProblem"))},
                              // Only from /readyz.
                              {"checks", json::array_schema(json::reference_schema("ReadinessCheck"))}},
                             {"type", "title", "status", "code", "detail", "fix"});
}

Value components() {
  Value schemas = Value::object();
  for (const auto& [name, schema] : contract().schemas.named()) schemas.set(name, schema);
  schemas.set("Problem", problem_document_schema());
  schemas.set("FileProblem", problem_schema());
  return json::extended(Value::object(), "schemas", std::move(schemas));
}

Value paths() {
  std::map<std::string_view, Value> by_path;
  for (const Operation& operation : contract().operations) {
    Value& path = by_path.try_emplace(operation.path, Value::object()).first->second;
    path.set(base::to_ascii_lower(operation.method), describe(operation));
  }
  Value made = Value::object();
  for (auto& [path, operations] : by_path) made.set(path, std::move(operations));
  return made;
}

std::string_view about_tag(std::string_view name) {
  static constexpr auto words = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"approvals", "questions for people, and their answers"},
      {"audit", "the audit trail: requests and decisions, with a hash chain that proves it is complete"},
      {"daemon", "the daemon itself"},
      {"doctor", "checks of what runs need on this machine"},
      {"events", "events, numbered without gaps"},
      {"executions", "executions of workflows"},
      {"gates", "gates defined in the config"},
      {"log", "the combined log: tool output and events"},
      {"openapi.json", "this document"},
      {"patches", "changes made by nodes, and how they reach the checkout"},
      {"pipelines", "sequences of agent steps and approval steps"},
      {"policy", "rules for agents' tool calls"},
      {"questions", "questions of programs that run outside of Reeve"},
      {"roles", "roles defined in the config"},
      {"runs", "supervised runs of tools"},
      {"tasks", "work items for agents; currently only imported ones"},
      {"tools", "tool profiles defined in the config"},
      {"workflows", "workflow files, and the versions that were started"},
  });
  const auto found = std::ranges::find(words, name, &std::pair<std::string_view, std::string_view>::first);
  return found != words.end() ? found->second : name;
}

Value tags() {
  std::set<std::string> names;
  for (const Operation& operation : contract().operations) names.insert(tag_of(operation));
  Value::Array made;
  for (const std::string& name : names) {
    made.push_back(json::extended(described(about_tag(name)), "name", text(name)));
  }
  return Value::array(std::move(made));
}

// Encoded once per process.
const std::string& document_text() {
  static const std::string made = json::encode(openapi_document());
  return made;
}

void show(SharedExchange exchange) { exchange->send({.body = document_text()}); }

}  // namespace

Value openapi_document() {
  Value about = Value::object();
  about.set("title", text("Reeve"));
  about.set("version", text(REEVE_VERSION));
  about.set("summary", text("AI command-line agents under supervision, with a person at the gate"));
  about.set("description",
            text("Errors are problem documents (RFC 9457) with a stable `code` and a suggested `fix`. Lists are paged: "
                 "`{items, next_cursor}`. Schemas of `application/x-ndjson` describe one line. HEAD works wherever "
                 "GET does, OPTIONS everywhere."));
  about.set("license", json::extended(json::extended(Value::object(), "name", text("MIT")), "identifier", text("MIT")));
  Value document = Value::object();
  document.set("openapi", text("3.1.0"));
  document.set("info", std::move(about));
  document.set("servers", Value::array({json::extended(Value::object(), "url", text("/"))}));
  // No credential is required on the unix socket, where the kernel identifies the peer.
  document.set("security", Value::array({Value::object()}));
  document.set("tags", tags());
  document.set("paths", paths());
  document.set("components", components());
  return document;
}

std::vector<Operation> openapi_operations(json::Schemas& /*schemas*/) {
  const Value object = json::extended(Value::object(), "type", Value::string("object"));
  return {{.method = "GET",
           .path = "/api/openapi.json",
           .handle = show,
           .name = "getDescription",
           .inside = InRunAccess::anyone,
           .summary = "Get this document",
           .replies = {{200, object}},
           .is_tagged = true}};
}

}  // namespace reeve::server
