#include "server/operations.h"
#include "server/workflow_record.h"

// /api/workflows as it is promised.
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
       .inside = Inside::refused,
       .summary = "The project's workflow files, by name",
       .query = {project_parameter(), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowPage", schemas.of<WorkflowItem>())}},
       .errors = {"config.invalid"}},
      {.method = "GET",
       .path = "/api/workflows/{name}",
       .name = "getWorkflow",
       .inside = Inside::refused,
       .summary = "One of the project, by id, name or file name; or a version that was started, by its `sha256:…`",
       .query = {project_parameter()},
       .replies = {{200, workflow}},
       .errors = {"flow.not_found", "flow.invalid", "config.invalid"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/workflows/{name}/graph",
       .name = "drawWorkflow",
       .inside = Inside::refused,
       .summary = "A drawing (GRF-15)",
       .query = {project_parameter(),
                 {"format", json::word_schema({"text", "list", "mermaid", "dot"}), "text when nothing is said"},
                 integer_parameter("columns", 40, 10'000, "how wide the text may be"),
                 flag_parameter("ascii", "1: lines and signs of ASCII only")},
       .replies = {{200, json::string_schema(), "text/plain"},
                   {200, json::string_schema(), "text/vnd.mermaid"},
                   {200, json::string_schema(), "text/vnd.graphviz"}},
       .errors = {"flow.not_found", "flow.invalid", "config.invalid"}},
      {.method = "GET",
       .path = "/api/workflows/{name}/versions",
       .name = "listWorkflowVersions",
       .inside = Inside::refused,
       .summary = "The versions of a workflow, by its id or name, that something was started with; newest first",
       .query = {limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "WorkflowVersionPage", schemas.of<store::WorkflowVersion>())}}},
      {.method = "POST",
       .path = "/api/workflows/validate",
       .name = "validateWorkflow",
       .inside = Inside::refused,
       .summary = "All that is wrong with a text (GRF-1). `file`: its name in the messages; absolute, also where the "
                  "workflows beside it are. `project`: a folder of the one whose config is meant",
       .body = json::object_schema({{"source", json::string_schema()},
                                    {"file", json::nullable_schema(json::string_schema())},
                                    {"project", json::nullable_schema(json::string_schema())}},
                                   {"source"}),
       .replies = {{200, validation(schemas, workflow)}},
       .errors = {"config.invalid"}}};
}

}  // namespace reeve::server
