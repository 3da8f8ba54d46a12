#include "json/describe.h"
#include "project/project.h"
#include "project/shown_config.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/own_project.h"
#include "wire/settings.h"

// /api/config: each effective config value and its source.
namespace reeve::server {

namespace {

using base::ErrorCode;

void show(SharedExchange exchange) {
  const project::FoundConfig found =
      project::load_config_for(exchange->daemon.options().folder, named_project(*exchange, exchange->query("project")));
  if (!found.loaded) {
    return exchange->refuse(ErrorCode::config_invalid, "the config is not valid", found.loaded.error());
  }
  wire::ConfigTable table;
  for (project::ShownEntry& entry : project::shown_entries(*found.loaded)) {
    wire::ConfigItem item{std::move(entry.path), std::move(entry.value), std::move(entry.origin), {}};
    if (entry.ignored) {
      item.ignored.emplace(std::move(entry.ignored->value), std::move(entry.ignored->origin),
                           std::move(entry.ignored->reason));
    }
    table.entries.push_back(std::move(item));
  }
  exchange->send(200, json::to_value(table));
}

}  // namespace

std::vector<Operation> config_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/config",
           .handle = show,
           .name = "getConfig",
           .inside = InRunAccess::refused,
           .summary =
               "Get every config value and its source; secrets are ***. `ignored`: the project's value, which has no "
               "effect because the project is not trusted",
           .query = {project_parameter()},
           .replies = {{200, schemas.of<wire::ConfigTable>()}},
           .errors = {ErrorCode::config_invalid},
           .is_tagged = true}};
}

}  // namespace reeve::server
