#include "store/tool_calls.h"

#include <utility>

#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"

// /api/tool-calls: reads what agents asked to do and what was decided (TOOL-7). Calls are made on the run's socket.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using model::ToolCall;

constexpr std::string_view call_pattern = "^[Tt][Cc]-[1-9][0-9]*$";

std::optional<base::CallId> parse_call(const Exchange& exchange, std::string_view name) {
  const auto text = exchange.query(name);
  if (!text) return std::nullopt;
  const auto id = base::CallId::parse(*text);
  if (!id) {
    throw Error(ErrorCode::api_bad_request, fmt::format("`{}` is not a valid tool call id", name),
                "ids look like TC-5");
  }
  return id;
}

// The cursor continues in the direction of the listing.
store::CallFilter parse_filter(const Exchange& exchange) {
  store::CallFilter filter{.before = parse_call(exchange, "before"),
                           .after = parse_call(exchange, "after"),
                           .most = exchange.query_integer("limit", listed_by_default, 1, max_listed)};
  if (filter.before && filter.after) {
    throw Error(ErrorCode::api_bad_request, "`before` and `after` cannot be combined", "omit one of them");
  }
  if (const auto run = exchange.query("run")) {
    filter.run = base::RunId::parse(*run);
    if (!filter.run) throw Error(ErrorCode::api_bad_request, "`run` is not a valid run id", "ids look like TR-17");
  }
  filter.project = parse_project_filter(exchange);
  if (filter.run && filter.project) {
    throw Error(ErrorCode::api_bad_request, "`run` and `project` cannot be combined", "omit one of them");
  }
  const auto cursor = parse_cursor<base::CallId>(exchange);
  if (cursor) (filter.after ? filter.after : filter.before) = cursor;
  return filter;
}

void list(SharedExchange exchange) {
  store::CallFilter filter = parse_filter(*exchange);
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_calls, [](const ToolCall& call) { return call.call_id; },
                    [](const ToolCall& call) { return json::to_value(call); }});
}

void show(SharedExchange exchange) {
  exchange->daemon.queries().get_call(exchange->call_id(), [exchange](const std::expected<ToolCall, Error>& call) {
    if (!call) return exchange->refuse(call.error());
    exchange->send(200, json::to_value(*call));
  });
}

}  // namespace

std::vector<Operation> tool_call_operations(json::Schemas& schemas) {
  const base::Value call = schemas.of<ToolCall>();
  return {{.method = "GET",
           .path = "/api/tool-calls",
           .handle = list,
           .name = "listToolCalls",
           .inside = InRunAccess::own_calls,
           .summary = "List tool calls of agents, newest first; with `after`, oldest first (TOOL-7)",
           .query = {{"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only calls of this run"},
                     project_filter(),
                     {"after", json::string_schema(call_pattern), "only calls newer than this one, oldest first"},
                     {"before", json::string_schema(call_pattern), "only calls older than this one"},
                     limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "ToolCallPage", call)}}},
          {.method = "GET",
           .path = "/api/tool-calls/{id}",
           .handle = show,
           .name = "getToolCall",
           .inside = InRunAccess::own_call,
           .summary = "Get a tool call: what was asked, which rule or person decided, what became of it",
           .replies = {{200, call}},
           .errors = {ErrorCode::call_not_found},
           .is_tagged = true}};
}

}  // namespace reeve::server
