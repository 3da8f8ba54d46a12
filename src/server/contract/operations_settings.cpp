#include "server/contract/operations.h"
#include "wire/settings.h"

// Contract of the operations that read the config.
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
                  .inside = InRunAccess::refused,
                  .summary = noun.list_summary,
                  .query = {project_parameter(), limit_parameter(), cursor_parameter()},
                  .replies = {{200, page_of(schemas, noun.page, record)}},
                  .errors = {"config.invalid"}});
  made.push_back({.method = "GET",
                  .path = noun.path,
                  .name = noun.name,
                  .inside = InRunAccess::refused,
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
      {"/api/tools", "listTools", "List the tool profiles of the config, by name; values of secret variables are ***",
       "/api/tools/{name}", "getTool", "Get a tool profile", "ToolPage", "tool.not_found"},
      schemas.of<wire::ToolRecord>());
  add(made, schemas,
      {"/api/roles", "listRoles", "List the roles of the config, by name", "/api/roles/{name}", "getRole", "Get a role",
       "RolePage", "role.not_found"},
      schemas.of<wire::RoleRecord>());
  add(made, schemas,
      {"/api/gates", "listGates", "List the gates of the config, by name", "/api/gates/{name}", "getGate", "Get a gate",
       "GatePage", "gate.not_found"},
      schemas.of<wire::GateRecord>());
  made.push_back(
      {.method = "GET",
       .path = "/api/config",
       .name = "getConfig",
       .inside = InRunAccess::refused,
       .summary =
           "Get every config value and its source; secrets are ***. `ignored`: the project's value, which has no "
           "effect because the project is not trusted",
       .query = {project_parameter()},
       .replies = {{200, schemas.of<wire::ConfigTable>()}},
       .errors = {"config.invalid"},
       .is_tagged = true});
  made.push_back({.method = "GET",
                  .path = "/api/policy",
                  .name = "getPolicy",
                  .inside = InRunAccess::refused,
                  .summary = "Get the policy rules of the config and the defaults (TOOL-1)",
                  .query = {project_parameter()},
                  .replies = {{200, schemas.of<wire::PolicyTable>()}},
                  .errors = {"config.invalid"},
                  .is_tagged = true});
  made.push_back({.method = "POST",
                  .path = "/api/policy/check",
                  .name = "checkPolicy",
                  .inside = InRunAccess::refused,
                  .summary = "Evaluate the policy for a tool call and name the deciding rule; nothing is asked or run",
                  .body = schemas.of_request<wire::PolicyQuestion>({"tool"}),
                  .replies = {{200, schemas.of<wire::PolicyAnswer>()}},
                  .errors = {"config.invalid"}});
  return made;
}

}  // namespace reeve::server
