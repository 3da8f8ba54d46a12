#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "server/operations.h"
#include "wire/execution_request.h"

// /api/executions as it is promised.
namespace reeve::server {

namespace {

using base::Value;

Parameter outputs_parameter() {
  return flag_parameter("outputs", "0: without what went into the nodes and came out of them");
}

std::vector<Parameter> drawing_parameters() {
  return {{"format", json::word_schema({"text", "list", "mermaid", "dot"}), "text when nothing is said"},
          integer_parameter("columns", 40, 10'000, "how wide the text may be"),
          flag_parameter("ascii", "1: lines and signs of ASCII only")};
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
           .inside = Inside::own_execution,
           .summary = "Its nodes in the order of the file",
           .query = {words_parameter("status", base::spellings<model::NodeStatus>(), "only those"), outputs_parameter(),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "NodePage", node)}},
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/graph",
           .name = "drawExecution",
           .inside = Inside::own_execution,
           .summary = "A drawing of how far it has come (GRF-15)",
           .query = drawing_parameters(),
           .replies = drawings(),
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/history",
           .name = "getExecutionHistory",
           .inside = Inside::refused,
           .summary = "What loops took back, and its runs, approvals and patches, each in the order in which it came",
           .replies = {{200, history_schema(schemas)}},
           .errors = {"execution.not_found"}},
          {.method = "GET",
           .path = "/api/executions/{id}/workflow",
           .name = "getExecutionWorkflow",
           .inside = Inside::refused,
           .summary = "The version of the workflow that it goes by",
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
          .inside = Inside::reported,
          .summary = summary,
          .scope = Scope::operate,
          .query = {outputs_parameter()},
          .body = optional_members({{"reason", json::string_schema()}}),
          .replies = {{200, execution}},
          .errors = {"execution.not_found", "execution.over", "execution.not_failed", "execution.is_part",
                     "execution.imported", "execution.inside_run", "pipeline.rejected", "api.peer_gone",
                     "git.no_commits", "git.missing"},
          .keeping = Keeping::answer};
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
       .inside = Inside::reported,
       .summary = "Starts a workflow: by its text (`source`), or one of the project (`workflow`)",
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
       .keeping = Keeping::change_then_answer},
      {.method = "GET",
       .path = "/api/executions",
       .name = "listExecutions",
       .inside = Inside::refused,
       .summary = "Newest first, without their nodes",
       .query = {words_parameter("status", base::spellings<model::ExecutionStatus>(), "only those"),
                 text_parameter("label", "only those with that label"),
                 text_parameter("workflow", "only those of the workflow with that id or name"), limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "ExecutionPage", summary)}}},
      {.method = "GET",
       .path = "/api/executions/{id}",
       .name = "getExecution",
       .inside = Inside::own_execution,
       .summary = "One execution with its nodes",
       .query = {outputs_parameter()},
       .replies = {{200, execution}},
       .errors = {"execution.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/executions/{id}/wait",
       .name = "waitForExecution",
       .inside = Inside::own_execution,
       .summary = "The execution when it is over, or as it is when the time is",
       .query = {duration_parameter("timeout", "at most 5m; 60s when nothing is said"),
                 flag_parameter("through_approvals", "0: also when it begins to wait for an answer"),
                 outputs_parameter()},
       .replies = {{200, execution}},
       .errors = {"execution.not_found"}},
      act("/api/executions/{id}/cancel", "cancelExecution", "Ends what runs in it; nothing begins any more", execution),
      act("/api/executions/{id}/retry", "retryExecution", "Goes on at what failed, and redoes nothing that completed",
          execution)};
  for (Operation& part : parts(schemas)) made.push_back(std::move(part));
  return made;
}

}  // namespace reeve::server
