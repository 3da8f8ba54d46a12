#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/named_page.h"
#include "server/resources/own_project.h"
#include "wire/settings.h"

// /api/gates: the gates of the effective config.
namespace reeve::server {

namespace {

using base::ErrorCode;

base::Value show_record(const model::Config& config, const std::string& name, const model::Gate& value) {
  wire::GateRecord record{{value}, name};
  mask_secrets(record.env, config);
  return json::to_value(record);
}

auto make_show(const model::Config& config) {
  return [&config](const std::string& name, const model::Gate& value) { return show_record(config, name, value); };
}

void list(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_names(exchange, config.gates, make_show(config));
}

void show(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_named(exchange, config.gates, "gate", ErrorCode::gate_not_found, make_show(config));
}

}  // namespace

std::vector<Operation> gate_operations(json::Schemas& schemas) {
  return named_operations(schemas,
                          {"/api/gates", list, "listGates", "List the gates of the config, by name",
                           "/api/gates/{name}", show, "getGate", "Get a gate", "GatePage", ErrorCode::gate_not_found},
                          schemas.of<wire::GateRecord>());
}

}  // namespace reeve::server
