#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "graph/analysis.h"
#include "graph/caption.h"
#include "graph/draw.h"
#include "graph/summary.h"

// Drawings for programs that do their own layout.
namespace reeve::graph {

namespace {

using model::NodeType;

// Mermaid's own escapes: no quote, bracket or hash in user text may end its string.
std::string escape_mermaid(std::string_view text) {
  std::string result;
  for (const char c : base::visible(text)) {
    constexpr std::string_view special = "\"#<>&;{}[]()|\\`";
    if (special.find(c) != std::string_view::npos) {
      result += fmt::format("#{};", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string escape_dot(std::string_view text) {
  std::string result;
  for (const char c : base::visible(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

struct Shape {
  std::string_view open;
  std::string_view close;
  std::string_view dot;
};

Shape shape_of(NodeType type) {
  switch (type) {
    case NodeType::task:
      return {"[", "]", "box"};
    case NodeType::gate:
      return {"{{", "}}", "hexagon"};
    case NodeType::branch:
      return {"{", "}", "diamond"};
    case NodeType::merge:
      return {"((", "))", "circle"};
    case NodeType::parallel:
      return {"[/", "\\]", "trapezium"};
    case NodeType::subgraph:
      return {"[[", "]]", "box3d"};
    case NodeType::human:
      return {"([", "])", "oval"};
  }
  return {"[", "]", "box"};
}

// SPEC §7: running cyan, completed green, failed red, waiting yellow; no color before the start.
std::string_view color_of(model::NodeStatus status) {
  switch (status) {
    case model::NodeStatus::running:
      return "#0891b2";
    case model::NodeStatus::waiting_approval:
      return "#ca8a04";
    case model::NodeStatus::completed:
      return "#16a34a";
    case model::NodeStatus::failed:
      return "#dc2626";
    case model::NodeStatus::skipped:
    case model::NodeStatus::cancelled:
      return "#9ca3af";
    default:
      return {};
  }
}

std::string label_of(const Graph& graph, const Levels& levels, EdgeIndex edge) {
  std::string label = describe_edge(graph, edge);
  if (graph.is_loop(edge)) {
    const auto limit = find_loop_limit(graph, edge, find_loop_body(graph, levels, edge));
    label += fmt::format("{}at most {}×", label.empty() ? "" : ", ", limit);
  }
  return label;
}

}  // namespace

std::string draw_mermaid(const Graph& graph, const std::vector<NodeMark>& marks) {
  const Levels levels = find_levels(graph);
  std::string text = fmt::format("---\ntitle: \"{}\"\n---\nflowchart TD\n", escape_dot(graph.workflow().name));
  // Nodes are numbered, because an id such as `end` would be a Mermaid keyword.
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    const Shape shape = shape_of(graph.node(node).type);
    const std::string mark = node < marks.size() ? "<br/>" + escape_mermaid(marks[node].text) : std::string();
    const auto& label = graph.node(node).label;
    text += fmt::format("  n{}{}\"{}<br/>{}{}{}\"{}\n", node, shape.open, escape_mermaid(graph.node(node).id),
                        escape_mermaid(describe_node(graph.node(node))),
                        label ? "<br/>" + escape_mermaid(*label) : std::string(), mark, shape.close);
  }
  for (EdgeIndex edge = 0; edge < graph.workflow().edges.size(); ++edge) {
    const std::string label = escape_mermaid(label_of(graph, levels, edge));
    const std::string_view line = graph.is_loop(edge) ? "-.->" : "-->";
    text += label.empty() ? fmt::format("  n{} {} n{}\n", graph.source(edge), line, graph.target(edge))
                          : fmt::format("  n{} {}|\"{}\"| n{}\n", graph.source(edge), line, label, graph.target(edge));
  }
  text += "  classDef exit stroke-width:3px\n";
  for (const NodeIndex node : find_exits(graph)) text += fmt::format("  class n{} exit\n", node);
  for (NodeIndex node = 0; node < marks.size() && node < graph.node_count(); ++node) {
    const std::string_view color = color_of(marks[node].status);
    if (!color.empty()) text += fmt::format("  style n{} stroke:{}\n", node, color);
  }
  return text;
}

std::string draw_dot(const Graph& graph, const std::vector<NodeMark>& marks) {
  const Levels levels = find_levels(graph);
  std::string text = fmt::format("digraph \"{}\" {{\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n",
                                 escape_dot(graph.workflow().id));
  const std::vector<NodeIndex> exits = find_exits(graph);
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    const bool is_exit = std::ranges::find(exits, node) != exits.end();
    const std::string mark = node < marks.size() ? "\\n" + escape_dot(marks[node].text) : std::string();
    const std::string_view color = node < marks.size() ? color_of(marks[node].status) : "";
    const auto& label = graph.node(node).label;
    text += fmt::format("  \"{}\" [label=\"{}\\n{}{}{}\", shape={}{}{}];\n", escape_dot(graph.node(node).id),
                        escape_dot(graph.node(node).id), escape_dot(describe_node(graph.node(node))),
                        label ? "\\n" + escape_dot(*label) : std::string(), mark, shape_of(graph.node(node).type).dot,
                        is_exit ? ", peripheries=2" : "",
                        color.empty() ? std::string() : fmt::format(", color=\"{}\"", color));
  }
  for (EdgeIndex edge = 0; edge < graph.workflow().edges.size(); ++edge) {
    const std::string label = escape_dot(label_of(graph, levels, edge));
    text += fmt::format("  \"{}\" -> \"{}\"", escape_dot(graph.edge(edge).source), escape_dot(graph.edge(edge).target));
    if (!label.empty() || graph.is_loop(edge)) {
      text += fmt::format(" [label=\"{}\"{}]", label, graph.is_loop(edge) ? ", style=dashed, constraint=false" : "");
    }
    text += ";\n";
  }
  return text + "}\n";
}

}  // namespace reeve::graph
