#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/named_page.h"
#include "server/resources/own_project.h"
#include "wire/settings.h"

// /api/roles: the roles of the effective config.
namespace reeve::server {

namespace {

using base::ErrorCode;

base::Value show_record(const std::string& name, const model::Role& value) {
  return json::to_value(wire::RoleRecord{{value}, name});
}

void list(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_names(exchange, config.roles, show_record);
}

void show(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_named(exchange, config.roles, "role", ErrorCode::role_not_found, show_record);
}

}  // namespace

std::vector<Operation> role_operations(json::Schemas& schemas) {
  return named_operations(schemas,
                          {"/api/roles", list, "listRoles", "List the roles of the config, by name",
                           "/api/roles/{name}", show, "getRole", "Get a role", "RolePage", ErrorCode::role_not_found},
                          schemas.of<wire::RoleRecord>());
}

}  // namespace reeve::server
