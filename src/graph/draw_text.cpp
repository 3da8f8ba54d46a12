#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "graph/analysis.h"
#include "graph/caption.h"
#include "graph/draw.h"
#include "graph/draw_boxes.h"
#include "graph/summary.h"

namespace reeve::graph {

namespace {

std::string count_of(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string draw_heading(const Graph& graph, const Summary& summary) {
  const model::Workflow& workflow = graph.workflow();
  std::string text = fmt::format("{}  ({} {})\n", base::visible(workflow.name), base::visible(workflow.id),
                                 base::visible(workflow.version));
  text += fmt::format("{}, {}, {}, {}\n\n", count_of(workflow.nodes.size(), "node"),
                      count_of(workflow.edges.size(), "edge"), count_of(summary.levels.size(), "level"),
                      count_of(summary.loops.size(), "loop"));
  return text;
}

std::string draw_ending(const Graph& graph, const Summary& summary, const DrawOptions& options) {
  const std::string_view arrow = options.ascii ? " -> " : " → ";
  std::string text = fmt::format("\nlongest path: {}\n", base::join(summary.critical_path, arrow));
  if (summary.widest_level > 1) {
    const std::int64_t most = graph.workflow().config.max_parallel_nodes;
    text += fmt::format("side by side: up to {} at a time (max_parallel_nodes {})\n",
                        std::min(static_cast<std::int64_t>(summary.widest_level), most), most);
  }
  for (const LoopSummary& loop : summary.loops) {
    text += fmt::format("loop: {}{}{}, at most {} time{}: repeats {}\n", loop.source, arrow, loop.target,
                        loop.max_iterations, loop.max_iterations == 1 ? "" : "s", base::join(loop.body, ", "));
  }
  return text;
}

std::string fit_lines(std::string_view text, const DrawOptions& options) {
  std::string result;
  for (const std::string_view line : base::split(text, '\n')) {
    if (!result.empty() || line.data() != text.data()) result += '\n';
    result += base::fit_width(line, options.columns, options.ascii);
  }
  return result;
}

std::string describe_targets(const Graph& graph, NodeIndex node, const std::vector<NodeIndex>& exits, bool ascii) {
  std::vector<std::string> parts;
  for (const EdgeIndex edge : graph.outgoing(node)) {
    std::string label = describe_edge(graph, edge);
    if (graph.is_loop(edge)) {
      label += fmt::format("{}loop", label.empty() ? "" : ", ");
    }
    parts.push_back(label.empty() ? graph.edge(edge).target : fmt::format("{} [{}]", graph.edge(edge).target, label));
  }
  std::string text;
  if (!parts.empty()) text = fmt::format("{} {}", ascii ? "->" : "→", base::join(parts, ", "));
  if (std::ranges::find(exits, node) != exits.end()) text += text.empty() ? "(exit)" : " (exit)";
  return text;
}

std::string draw_levels(const Graph& graph, const Levels& levels, const DrawOptions& options) {
  const std::vector<NodeIndex> exits = find_exits(graph);
  std::size_t id_width = 0;
  std::size_t kind_width = 0;
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    id_width = std::max(id_width, base::display_width(graph.node(node).id));
    kind_width = std::max(kind_width, base::display_width(describe_node(graph.node(node))));
  }
  id_width = std::min<std::size_t>(id_width, 32);
  kind_width = std::min<std::size_t>(kind_width, 36);
  const std::size_t number_width = fmt::formatted_size("{}", levels.nodes.size());
  std::size_t mark_width = 0;
  for (const NodeMark& mark : options.marks) mark_width = std::max(mark_width, base::display_width(mark.text));
  mark_width = std::min<std::size_t>(mark_width, 32);
  const auto pad = [&](std::string text, std::size_t width) {
    text = base::fit_width(text, width, options.ascii);
    text.append(width - base::display_width(text), ' ');
    return text;
  };
  std::string text;
  for (std::size_t level = 0; level < levels.nodes.size(); ++level) {
    const bool is_parallel = levels.nodes[level].size() > 1;
    for (std::size_t i = 0; i < levels.nodes[level].size(); ++i) {
      const NodeIndex node = levels.nodes[level][i];
      std::string line = i == 0 ? fmt::format("{:>{}}", level + 1, number_width) : std::string(number_width, ' ');
      line += fmt::format(" {} {}  {}  ", is_parallel ? (options.ascii ? "|" : "∥") : " ",
                          pad(graph.node(node).id, id_width), pad(describe_node(graph.node(node)), kind_width));
      if (node < options.marks.size()) line += pad(options.marks[node].text, mark_width) + "  ";
      line += describe_targets(graph, node, exits, options.ascii);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
  }
  return text;
}

}  // namespace

std::string draw_list(const Graph& graph, const DrawOptions& options) {
  const Summary summary = summarize(graph);
  return fit_lines(draw_heading(graph, summary) + draw_levels(graph, find_levels(graph), options) +
                       draw_ending(graph, summary, options),
                   options);
}

std::string draw_text(const Graph& graph, const DrawOptions& options) {
  const auto boxes = draw_boxes(graph, find_levels(graph), options);
  if (!boxes) return draw_list(graph, options);
  const Summary summary = summarize(graph);
  return fit_lines(draw_heading(graph, summary) + *boxes + draw_ending(graph, summary, options), options);
}

}  // namespace reeve::graph
