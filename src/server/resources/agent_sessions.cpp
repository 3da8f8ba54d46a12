#include "store/agent_sessions.h"

#include <utility>

#include "json/describe.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"

// /api/agents/sessions: reads what agents reported about their sessions (AGT-4), on the socket of their run.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

store::SessionFilter parse_filter(const Exchange& exchange) {
  store::SessionFilter filter{.project = parse_project_filter(exchange),
                              .before = parse_cursor<store::SessionNumber>(exchange),
                              .most = exchange.query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto run = exchange.query("run")) {
    filter.run = base::RunId::parse(*run);
    if (!filter.run) throw Error(ErrorCode::api_bad_request, "`run` is not a valid run id", "ids look like TR-17");
  }
  if (filter.run && filter.project) {
    throw Error(ErrorCode::api_bad_request, "`run` and `project` cannot be combined", "omit one of them");
  }
  return filter;
}

void list(SharedExchange exchange) {
  store::SessionFilter filter = parse_filter(*exchange);
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_sessions, [](const store::SessionRow& row) { return row.number; },
                    [](const store::SessionRow& row) { return json::to_value(row.session); }});
}

}  // namespace

std::vector<Operation> agent_session_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/agents/sessions",
           .handle = list,
           .name = "listAgentSessions",
           .inside = InRunAccess::own_calls,
           .summary = "List sessions of agents with their tokens and cost, newest first (AGT-4)",
           .query = {{"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only sessions of this run"},
                     project_filter(),
                     limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "AgentSessionPage", schemas.of<model::AgentSession>())}}}};
}

}  // namespace reeve::server
