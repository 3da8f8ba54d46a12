#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "server/contract/operations.h"
#include "wire/execution_request.h"

// Contract of /api/executions.
namespace reeve::server {

namespace {

using base::Value;

Parameter outputs_parameter() { return flag_parameter("outputs", "0: omit the inputs and outputs of nodes"); }

std::vector<Parameter> drawing_parameters() {
  return {{"format", json::word_schema({"text", "list", "mermaid", "dot"}), "default: text"},
          integer_parameter("columns", 40, 10'000, "maximum width of the text"),
          flag_parameter("ascii", "1: ASCII characters only")};
}

std::vector<Reply> drawings() {
  return {{200, json::string_schema(), "text/plain"},
          {200, json::string_schema(), "text/vnd.mermaid"},
          {200, json::string_schema(), "text/vnd.graphviz"}};
}

Value history_schema(json::Schemas& schemas) {
  const Value archived =
      schemas.with(schemas.of<model::NodeExecution>(), "ArchivedNode", {{"archived_at", schemas.of<base::WallTime>()}});
  const Value patch = schemas.without(schemas.of<model::Patch>(), "PatchSummary", {"diff"});
  return json::object_schema({{"iterations", json::array_schema(archived)},
                              {"runs", json::array_schema(schemas.of<model::Run>())},
                              {"approvals", json::array_schema(schemas.of<model::Approval>())},
                              {"patches", json::array_schema(patch)}},
                             {"iterations", "runs", "approvals", "patches"});
}

std::vector<Operation> parts(json::Schemas& schemas) {
  const Value node = schemas.of<model::NodeExecution>();
  return {{.method = "GET",
           .path = "/api/executions/{id}/nodes",
           .name = "listNodes",
           .inside = InRunAccess::own_execution,
           .summary = "List the nodes of an execution, in file order",
           .query = {words_parameter("status", base::spellings<model::NodeStatus>(), "only nodes with these statuses"),
                     outputs_parameter(), limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "NodePage", node)}},
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/graph",
           .name = "drawExecution",
           .inside = InRunAccess::own_execution,
           .summary = "Draw an execution and its progress (GRF-15)",
           .query = drawing_parameters(),
           .replies = drawings(),
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/history",
           .name = "getExecutionHistory",
           .inside = InRunAccess::refused,
           .summary = "Get the node iterations that loops replaced, and all runs, approvals and patches, each in order "
                      "of creation",
           .replies = {{200, history_schema(schemas)}},
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/workflow",
           .name = "getExecutionWorkflow",
           .inside = InRunAccess::refused,
           .summary = "Get the workflow version that the execution uses",
           .replies = {{200, json::object_schema(
                                 {{"content_hash", json::string_schema("^sha256:[0-9a-f]{64}$")},
                                  {"workflow", json::extended(Value::object(), "type", Value::string("object"))}},
                                 {"content_hash", "workflow"})}},
           .errors = {"execution.not_found"},
           .is_tagged = true}};
}

Operation act(std::string_view path, std::string_view name, std::string_view summary, const Value& execution) {
  return {.method = "POST",
          .path = path,
          .name = name,
          .inside = InRunAccess::reported,
          .summary = summary,
          .scope = Scope::operate,
          .query = {outputs_parameter()},
          .body = optional_members({{"reason", json::string_schema()}}),
          .replies = {{200, execution}},
          .errors = {"execution.not_found", "execution.over", "execution.not_failed", "execution.is_part",
                     "execution.imported", "execution.inside_run", "pipeline.rejected", "api.peer_gone",
                     "git.no_commits", "git.missing"},
          .idempotency = IdempotencyMode::answer};
}

}  // namespace

std::vector<Operation> execution_operations(json::Schemas& schemas) {
  const Value execution = schemas.of<model::Execution>();
  const Value started =
      schemas.with(execution, "StartedExecution", {{"dirty", schemas.of<std::vector<std::string>>()}});
  const Value summary = schemas.without(execution, "ExecutionSummary", {"nodes", "inputs", "config"});
  std::vector<Operation> made = {
      {.method = "POST",
       .path = "/api/executions",
       .name = "startExecution",
       .inside = InRunAccess::reported,
       .summary = "Start a workflow, given as text (`source`) or by its name in the project (`workflow`)",
       .scope = Scope::operate,
       .query = {outputs_parameter()},
       .body = schemas.of_request<wire::ExecutionRequest>({"project"}),
       .replies = {{201, started}},
       .errors = {"flow.invalid",
                  "flow.not_found",
                  "config.invalid",
                  "project.moved",
                  "execution.inside_run",
                  "api.peer_gone",
                  "git.no_commits",
                  "git.unsafe_folder",
                  "git.missing",
                  "node.unknown_role",
                  "node.no_tool",
                  "node.bad_folder",
                  "node.bad_template",
                  "node.gate_cycle",
                  "node.too_long",
                  "node.unknown_name",
                  "node.unknown_gate",
                  "run.unknown_tool",
                  "run.headless_unsupported",
                  "run.no_command"},
       .idempotency = IdempotencyMode::change_then_answer},
      {.method = "GET",
       .path = "/api/executions",
       .name = "listExecutions",
       .inside = InRunAccess::refused,
       .summary = "List executions, newest first, without nodes",
       .query = {words_parameter("status", base::spellings<model::ExecutionStatus>(),
                                 "only executions with these statuses"),
                 text_parameter("label", "only executions with this label"),
                 text_parameter("workflow", "only executions of the workflow with this id or name"), limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "ExecutionPage", summary)}}},
      {.method = "GET",
       .path = "/api/executions/{id}",
       .name = "getExecution",
       .inside = InRunAccess::own_execution,
       .summary = "Get an execution with its nodes",
       .query = {outputs_parameter()},
       .replies = {{200, execution}},
       .errors = {"execution.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/executions/{id}/wait",
       .name = "waitForExecution",
       .inside = InRunAccess::own_execution,
       .summary = "Wait until the execution ends or `timeout` passes; returns it either way",
       .query = {duration_parameter("timeout", "default 60s, at most 5m"),
                 flag_parameter("through_approvals", "0: also return when it starts to wait for an answer"),
                 outputs_parameter()},
       .replies = {{200, execution}},
       .errors = {"execution.not_found"}},
      act("/api/executions/{id}/cancel", "cancelExecution",
          "Cancel an execution: end its runs and start no further nodes", execution),
      act("/api/executions/{id}/retry", "retryExecution",
          "Retry an execution from its failed nodes; completed nodes are kept", execution)};
  for (Operation& part : parts(schemas)) made.push_back(std::move(part));
  return made;
}

}  // namespace reeve::server
