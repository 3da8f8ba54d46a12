#include <utility>

#include <fmt/format.h>

#include "json/describe.h"
#include "model/grant.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"

// /api/grants: standing grants (TOOL-8). They are made together with the decision of an approval.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using model::Grant;

void list(SharedExchange exchange) {
  store::GrantFilter filter{.with_ended = exchange->query_flag("all"),
                            .project = parse_project_filter(*exchange),
                            .before = parse_cursor<base::GrantId>(*exchange),
                            .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_grants, [](const Grant& grant) { return grant.grant_id; },
                    [](const Grant& grant) { return json::to_value(grant); }});
}

auto answer_with(SharedExchange exchange) {
  return [exchange](const std::expected<Grant, Error>& grant) {
    if (!grant) return exchange->refuse(grant.error());
    exchange->send(200, json::to_value(*grant));
  };
}

void show(SharedExchange exchange) {
  exchange->daemon.queries().get_grant(exchange->grant_id(), answer_with(exchange));
}

// Takes a permission away, so the right to decide questions is enough.
void revoke(SharedExchange exchange) {
  const base::GrantId id = exchange->grant_id();
  deny_in_run_caller(exchange, fmt::format("revoke {}", id.text()));
  exchange->daemon.call_grants().revoke(id, exchange->actor(), answer_with(exchange));
}

}  // namespace

std::vector<Operation> grant_operations(json::Schemas& schemas) {
  const base::Value grant = schemas.of<Grant>();
  return {{.method = "GET",
           .path = "/api/grants",
           .handle = list,
           .name = "listGrants",
           .inside = InRunAccess::refused,
           .summary = "List standing grants that are in force, newest first (TOOL-8)",
           .query = {flag_parameter("all", "1: also those that have expired or were revoked"), project_filter(),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "GrantPage", grant)}}},
          {.method = "GET",
           .path = "/api/grants/{id}",
           .handle = show,
           .name = "getGrant",
           .inside = InRunAccess::refused,
           .summary = "Get a standing grant: what it allows, who made it, how often it was used",
           .replies = {{200, grant}},
           .errors = {ErrorCode::grant_not_found},
           .is_tagged = true},
          {.method = "POST",
           .path = "/api/grants/{id}/revoke",
           .handle = revoke,
           .name = "revokeGrant",
           .inside = InRunAccess::reported,
           .summary = "Revoke a standing grant; calls that it has allowed continue. Repeating it changes nothing",
           .scope = Scope::approve,
           .body = json::object_schema({}, {}),
           .replies = {{200, grant}},
           .errors = {ErrorCode::grant_not_found, ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
