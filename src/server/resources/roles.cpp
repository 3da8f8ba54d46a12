#include "server/resources/named_page.h"
#include "server/resources/own_project.h"
#include "server/routing/api.h"
#include "wire/settings.h"

// /api/roles: the roles of the effective config.
namespace reeve::server {

namespace {

base::Value show_record(const std::string& name, const model::Role& value) {
  return json::to_value(wire::RoleRecord{{value}, name});
}

void list(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_names(exchange, config.roles, show_record);
}

void show(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_named(exchange, config.roles, "role", show_record);
}

}  // namespace

std::vector<Route> role_routes() { return {{"GET", "/api/roles", list}, {"GET", "/api/roles/*", show}}; }

}  // namespace reeve::server
