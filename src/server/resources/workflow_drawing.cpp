#include "server/resources/workflow_drawing.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/draw.h"
#include "json/decode.h"
#include "json/describe.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::array<std::string_view, 4> formats = {"text", "list", "mermaid", "dot"};

std::vector<graph::NodeMark> make_marks(const std::vector<model::NodeExecution>& nodes) {
  std::vector<graph::NodeMark> marks;
  for (const model::NodeExecution& node : nodes) {
    std::string text(base::spell(node.status));
    if (node.iteration > 0) text += fmt::format(", round {}", node.iteration + 1);
    if (node.approval_id && !model::is_over(node.status)) text += " " + node.approval_id->text();
    marks.push_back({node.status, std::move(text)});
  }
  return marks;
}

}  // namespace

WorkflowRecord make_workflow_record(const model::Workflow& workflow, const std::string& content_hash) {
  const graph::Graph graph(workflow);
  WorkflowRecord record;
  static_cast<graph::Summary&>(record) = graph::summarize(graph);
  record.workflow_id = workflow.id;
  record.workflow_name = workflow.name;
  record.description = workflow.description;
  record.version = workflow.version;
  record.content_hash = content_hash;
  record.entry_point = workflow.entry_point;
  record.inputs = workflow.inputs;
  record.nodes = static_cast<std::int64_t>(workflow.nodes.size());
  record.edges = static_cast<std::int64_t>(workflow.edges.size());
  record.definition = json::to_value(workflow, json::Defaults::omit);
  return record;
}

void check_drawing(const Exchange& exchange) {
  const std::string format = exchange.query("format").value_or("text");
  if (std::ranges::find(formats, format) == formats.end()) {
    throw Error(ErrorCode::api_bad_request, fmt::format("`format` must be one of {}", fmt::join(formats, ", ")));
  }
  exchange.query_integer("columns", 100, 40, 10'000);
}

void send_drawing(const SharedExchange& exchange, const model::Workflow& workflow,
                  const std::vector<model::NodeExecution>& nodes) {
  check_drawing(*exchange);
  const std::string format = exchange->query("format").value_or("text");
  const graph::Graph graph(workflow);
  const graph::DrawOptions options{
      .ascii = exchange->query_flag("ascii"),
      .columns = static_cast<std::size_t>(exchange->query_integer("columns", 100, 40, 10'000)),
      .marks = make_marks(nodes)};
  Response response{.content_type = "text/plain; charset=utf-8"};
  if (format == "mermaid") {
    response.content_type = "text/vnd.mermaid; charset=utf-8";
    response.body = graph::draw_mermaid(graph, options.marks);
  } else if (format == "dot") {
    response.content_type = "text/vnd.graphviz; charset=utf-8";
    response.body = graph::draw_dot(graph, options.marks);
  } else {
    response.body = format == "list" ? graph::draw_list(graph, options) : graph::draw_text(graph, options);
  }
  exchange->send(std::move(response));
}

std::vector<Parameter> drawing_parameters() {
  return {{"format", json::word_schema({"text", "list", "mermaid", "dot"}), "default: text"},
          integer_parameter("columns", 40, 10'000, "maximum width of the text"),
          flag_parameter("ascii", "1: ASCII characters only")};
}

std::vector<Reply> drawing_replies() {
  return {{200, json::string_schema(), "text/plain"},
          {200, json::string_schema(), "text/vnd.mermaid"},
          {200, json::string_schema(), "text/vnd.graphviz"}};
}

}  // namespace reeve::server
