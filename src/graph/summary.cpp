#include "graph/summary.h"

#include <algorithm>
#include <limits>

#include "graph/analysis.h"

namespace reeve::graph {

namespace {

std::vector<std::string> names_of(const Graph& graph, const std::vector<NodeIndex>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeIndex node : nodes) names.push_back(graph.node(node).id);
  return names;
}

}  // namespace

std::int64_t find_loop_limit(const Graph& graph, EdgeIndex loop_edge, const std::vector<NodeIndex>& body) {
  const auto& source = graph.node(graph.source(loop_edge)).branch_config;
  if (source) return source->condition.max_iterations;
  std::int64_t tightest = std::numeric_limits<std::int64_t>::max();
  for (const NodeIndex node : body) {
    const auto& branch = graph.node(node).branch_config;
    if (branch) tightest = std::min(tightest, branch->condition.max_iterations);
  }
  return tightest;
}

Summary summarize(const Graph& graph) {
  const Levels levels = find_levels(graph);
  Summary summary;
  for (const std::vector<NodeIndex>& level : levels.nodes) {
    summary.levels.push_back(names_of(graph, level));
    summary.widest_level = std::max(summary.widest_level, level.size());
  }
  summary.critical_path = names_of(graph, find_critical_path(graph, levels));
  summary.exits = names_of(graph, find_exits(graph));
  for (EdgeIndex edge = 0; edge < graph.workflow().edges.size(); ++edge) {
    if (!graph.is_loop(edge)) continue;
    std::vector<NodeIndex> body = find_loop_body(graph, levels, edge);
    const model::Edge& loop = graph.edge(edge);
    const std::int64_t limit = find_loop_limit(graph, edge, body);
    const auto size = static_cast<std::int64_t>(body.size());
    // Limits the size of the summary for workflows with thousands of loops and nodes.
    constexpr std::size_t max_named = 100;
    body.resize(std::min(body.size(), max_named));
    summary.loops.push_back({loop.id, loop.source, loop.target, limit, size, names_of(graph, body)});
  }
  return summary;
}

}  // namespace reeve::graph
