#include <charconv>
#include <ranges>
#include <utility>

#include "json/describe.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "runtime/queries.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/execution_parameters.h"
#include "server/resources/listing.h"
#include "server/resources/workflow_drawing.h"
#include "store/executions.h"

// Parts of an execution: its nodes page by page, its drawing, its history, its workflow.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

// The position of a node in its file.
struct NodeCursor {
  std::int64_t place = 0;

  static std::optional<NodeCursor> parse(std::string_view text) {
    NodeCursor cursor;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cursor.place);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && cursor.place >= 0 && cursor.place < 1'000'000 ? std::optional(cursor) : std::nullopt;
  }
  std::string text() const { return std::to_string(place); }
};

void nodes(SharedExchange exchange) {
  const bool is_brief = exchange->query("outputs").value_or("1") == "0";
  store::NodeFilter filter{.execution = exchange->execution_id(),
                           .statuses = parse_words<model::NodeStatus>(exchange->query("status"), "status", "statuses"),
                           .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  if (const auto cursor = parse_cursor<NodeCursor>(*exchange)) filter.after = cursor->place;
  send_page(
      exchange, std::move(filter),
      Listing{&runtime::Queries::list_nodes, [](const store::ListedNode& listed) { return NodeCursor{listed.place}; },
              [is_brief](const store::ListedNode& listed) {
                model::NodeExecution node = listed.node;
                if (is_brief) node.inputs = node.outputs = std::nullopt;
                return json::to_value(node);
              }});
}

void draw(SharedExchange exchange) {
  check_drawing(*exchange);
  exchange->daemon.queries().get_execution_graph(
      exchange->execution_id(), [exchange](const std::expected<runtime::ExecutionGraph, Error>& graph) {
        if (!graph) return exchange->refuse(graph.error());
        send_drawing(exchange, graph->workflow, graph->nodes);
      });
}

// Without the diff, as in the list of patches, because it can be large.
Value describe_without_diff(const model::Patch& patch) {
  Value document = json::to_value(patch);
  std::erase_if(*document.as_object(), [](const base::Member& member) { return member.key == "diff"; });
  return document;
}

void history(SharedExchange exchange) {
  exchange->daemon.queries().get_execution_history(
      exchange->execution_id(), [exchange](const std::expected<runtime::ExecutionHistory, Error>& found) {
        if (!found) return exchange->refuse(found.error());
        Value::Array iterations;
        for (const store::ArchivedNode& archived : found->nodes) {
          Value record = json::to_value(archived.node);
          record.set("archived_at", json::to_value(archived.archived_at));
          iterations.push_back(std::move(record));
        }
        Value document = Value::object();
        document.set("iterations", Value::array(std::move(iterations)));
        document.set("runs", json::to_value(found->runs));
        document.set("approvals", json::to_value(found->approvals));
        Value::Array patches;
        // In order of creation, like everything else here.
        for (const model::Patch& patch : found->patches | std::views::reverse) {
          patches.push_back(describe_without_diff(patch));
        }
        document.set("patches", Value::array(std::move(patches)));
        exchange->send(200, document);
      });
}

void workflow(SharedExchange exchange) {
  exchange->daemon.queries().get_execution_workflow(exchange->execution_id(),
                                                    [exchange](std::expected<store::StoredWorkflow, Error> found) {
                                                      if (!found) return exchange->refuse(found.error());
                                                      Value document = Value::object();
                                                      document.set("content_hash", Value::string(found->hash));
                                                      document.set("workflow", std::move(found->definition));
                                                      exchange->send(200, document);
                                                    });
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

}  // namespace

std::vector<Operation> execution_view_operations(json::Schemas& schemas) {
  const Value node = schemas.of<model::NodeExecution>();
  return {{.method = "GET",
           .path = "/api/executions/{id}/nodes",
           .handle = nodes,
           .name = "listNodes",
           .inside = InRunAccess::own_execution,
           .summary = "List the nodes of an execution, in file order",
           .query = {words_parameter("status", base::spellings<model::NodeStatus>(), "only nodes with these statuses"),
                     outputs_parameter(), limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "NodePage", node)}},
           .errors = {ErrorCode::execution_not_found}},
          {.method = "GET",
           .path = "/api/executions/{id}/graph",
           .handle = draw,
           .name = "drawExecution",
           .inside = InRunAccess::own_execution,
           .summary = "Draw an execution and its progress (GRF-15)",
           .query = drawing_parameters(),
           .replies = drawing_replies(),
           .errors = {ErrorCode::execution_not_found}},
          {.method = "GET",
           .path = "/api/executions/{id}/history",
           .handle = history,
           .name = "getExecutionHistory",
           .inside = InRunAccess::refused,
           .summary = "Get the node iterations that loops replaced, and all runs, approvals and patches, each in order "
                      "of creation",
           .replies = {{200, history_schema(schemas)}},
           .errors = {ErrorCode::execution_not_found}},
          {.method = "GET",
           .path = "/api/executions/{id}/workflow",
           .handle = workflow,
           .name = "getExecutionWorkflow",
           .inside = InRunAccess::refused,
           .summary = "Get the workflow version that the execution uses",
           .replies = {{200, json::object_schema(
                                 {{"content_hash", json::string_schema("^sha256:[0-9a-f]{64}$")},
                                  {"workflow", json::extended(Value::object(), "type", Value::string("object"))}},
                                 {"content_hash", "workflow"})}},
           .errors = {ErrorCode::execution_not_found},
           .is_tagged = true}};
}

}  // namespace reeve::server
