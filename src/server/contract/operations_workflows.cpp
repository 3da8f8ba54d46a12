#include "server/contract/operations.h"
#include "server/contract/workflow_record.h"
#include "store/executions.h"

// Contract of /api/workflows.
namespace reeve::server {

namespace {

using base::Value;

Value validation(json::Schemas& schemas, const Value& workflow) {
  const Value number = schemas.of<std::int64_t>();
  return schemas.add("Validation",
                     json::object_schema({{"valid", schemas.of<bool>()},
                                          {"errors", number},
                                          {"warnings", number},
                                          {"problems", json::array_schema(json::reference_schema("FileProblem"))},
                                          {"workflow", json::nullable_schema(workflow)}},
                                         {"valid", "errors", "warnings", "problems", "workflow"}));
}

}  // namespace

std::vector<Operation> workflow_operations(json::Schemas& schemas) {
  const Value workflow = schemas.of<WorkflowRecord>();
  return {
      {.method = "GET",
       .path = "/api/workflows",
       .name = "listWorkflows",
       .inside = InRunAccess::refused,
       .summary = "List the project's workflow files, by name",
       .query = {project_parameter(), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowPage", schemas.of<WorkflowItem>())}},
       .errors = {"config.invalid"}},
      {.method = "GET",
       .path = "/api/workflows/{name}",
       .name = "getWorkflow",
       .inside = InRunAccess::refused,
       .summary = "Get a workflow of the project by id, name or file name, or a started version by its `sha256:…`",
       .query = {project_parameter()},
       .replies = {{200, workflow}},
       .errors = {"flow.not_found", "flow.invalid", "config.invalid"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/workflows/{name}/graph",
       .name = "drawWorkflow",
       .inside = InRunAccess::refused,
       .summary = "Draw a workflow (GRF-15)",
       .query = {project_parameter(),
                 {"format", json::word_schema({"text", "list", "mermaid", "dot"}), "default: text"},
                 integer_parameter("columns", 40, 10'000, "maximum width of the text"),
                 flag_parameter("ascii", "1: ASCII characters only")},
       .replies = {{200, json::string_schema(), "text/plain"},
                   {200, json::string_schema(), "text/vnd.mermaid"},
                   {200, json::string_schema(), "text/vnd.graphviz"}},
       .errors = {"flow.not_found", "flow.invalid", "config.invalid"}},
      {.method = "GET",
       .path = "/api/workflows/{name}/versions",
       .name = "listWorkflowVersions",
       .inside = InRunAccess::refused,
       .summary = "List the started versions of a workflow, by its id or name, newest first",
       .query = {limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowVersionPage", schemas.of<store::WorkflowVersion>())}}},
      {.method = "POST",
       .path = "/api/workflows/validate",
       .name = "validateWorkflow",
       .inside = InRunAccess::refused,
       .summary =
           "Report every error in a workflow text (GRF-1). `file`: its name in messages; if absolute, its folder is "
           "searched for referenced workflows. `project`: a folder of the project whose config applies",
       .body = json::object_schema({{"source", json::string_schema()},
                                    {"file", json::nullable_schema(json::string_schema())},
                                    {"project", json::nullable_schema(json::string_schema())}},
                                   {"source"}),
       .replies = {{200, validation(schemas, workflow)}},
       .errors = {"config.invalid"}}};
}

}  // namespace reeve::server
