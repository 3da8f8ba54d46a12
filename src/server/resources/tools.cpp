#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/named_page.h"
#include "server/resources/own_project.h"
#include "wire/settings.h"

// /api/tools: the tool profiles of the effective config.
namespace reeve::server {

namespace {

using base::ErrorCode;

base::Value show_record(const model::Config& config, const std::string& name, const model::ToolProfile& value) {
  wire::ToolRecord record{{value}, name};
  mask_secrets(record.env, config);
  return json::to_value(record);
}

auto make_show(const model::Config& config) {
  return
      [&config](const std::string& name, const model::ToolProfile& value) { return show_record(config, name, value); };
}

void list(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_names(exchange, config.tools, make_show(config));
}

void show(SharedExchange exchange) {
  const model::Config config = load_config(*exchange);
  send_named(exchange, config.tools, "tool", ErrorCode::tool_not_found, make_show(config));
}

}  // namespace

std::vector<Operation> tool_operations(json::Schemas& schemas) {
  return named_operations(
      schemas,
      {"/api/tools", list, "listTools",
       "List the tool profiles of the config, by name; values of secret variables are ***", "/api/tools/{name}", show,
       "getTool", "Get a tool profile", "ToolPage", ErrorCode::tool_not_found},
      schemas.of<wire::ToolRecord>());
}

}  // namespace reeve::server
