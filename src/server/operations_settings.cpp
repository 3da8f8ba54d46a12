#include "server/operations.h"
#include "wire/settings.h"

// What the config has, as it is promised.
namespace reeve::server {

namespace {

using base::Value;

struct Noun {
  std::string_view list_path;
  std::string_view list_name;
  std::string_view list_summary;
  std::string_view path;
  std::string_view name;
  std::string_view summary;
  std::string_view page;
  std::string_view not_found;
};

void add(std::vector<Operation>& made, json::Schemas& schemas, const Noun& noun, const Value& record) {
  made.push_back({.method = "GET",
                  .path = noun.list_path,
                  .name = noun.list_name,
                  .inside = Inside::refused,
                  .summary = noun.list_summary,
                  .query = {project_parameter(), limit_parameter(), cursor_parameter()},
                  .replies = {{200, page_of(schemas, noun.page, record)}},
                  .errors = {"config.invalid"}});
  made.push_back({.method = "GET",
                  .path = noun.path,
                  .name = noun.name,
                  .inside = Inside::refused,
                  .summary = noun.summary,
                  .query = {project_parameter()},
                  .replies = {{200, record}},
                  .errors = {noun.not_found, "config.invalid"},
                  .is_tagged = true});
}

}  // namespace

std::vector<Operation> setting_operations(json::Schemas& schemas) {
  std::vector<Operation> made;
  add(made, schemas,
      {"/api/tools", "listTools", "Profiles of the config, by name; values of secret variables are ***",
       "/api/tools/{name}", "getTool", "One profile", "ToolPage", "tool.not_found"},
      schemas.of<wire::ToolRecord>());
  add(made, schemas,
      {"/api/roles", "listRoles", "Roles of the config, by name", "/api/roles/{name}", "getRole", "One role",
       "RolePage", "role.not_found"},
      schemas.of<wire::RoleRecord>());
  add(made, schemas,
      {"/api/gates", "listGates", "Gates of the config, by name", "/api/gates/{name}", "getGate", "One gate",
       "GatePage", "gate.not_found"},
      schemas.of<wire::GateRecord>());
  made.push_back(
      {.method = "GET",
       .path = "/api/config",
       .name = "getConfig",
       .inside = Inside::refused,
       .summary = "Every value of the config with where it comes from; secrets are ***. `ignored`: what the project "
                  "says in its place and what does not count, because it is not trusted",
       .query = {project_parameter()},
       .replies = {{200, schemas.of<wire::ConfigTable>()}},
       .errors = {"config.invalid"},
       .is_tagged = true});
  made.push_back({.method = "GET",
                  .path = "/api/policy",
                  .name = "getPolicy",
                  .inside = Inside::refused,
                  .summary = "The rules of the config, and what holds where it says nothing (TOOL-1)",
                  .query = {project_parameter()},
                  .replies = {{200, schemas.of<wire::PolicyTable>()}},
                  .errors = {"config.invalid"},
                  .is_tagged = true});
  made.push_back({.method = "POST",
                  .path = "/api/policy/check",
                  .name = "checkPolicy",
                  .inside = Inside::refused,
                  .summary = "What would hold for a tool call, and which rule says so; nothing is asked or run",
                  .body = schemas.of_request<wire::PolicyQuestion>({"tool"}),
                  .replies = {{200, schemas.of<wire::PolicyAnswer>()}},
                  .errors = {"config.invalid"}});
  return made;
}

}  // namespace reeve::server
