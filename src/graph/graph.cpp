#include "graph/graph.h"

#include <algorithm>
#include <limits>

namespace reeve::graph {

namespace {

constexpr NodeIndex nowhere = std::numeric_limits<NodeIndex>::max();

// Counting sort of the edges by one of their ends; stable, so that file order is kept within a node.
template <class End>
void sort_edges(std::size_t nodes, std::size_t edges, End end, std::vector<EdgeIndex>& sorted,
                std::vector<EdgeIndex>& start) {
  start.assign(nodes + 1, 0);
  for (EdgeIndex edge = 0; edge < edges; ++edge) {
    if (end(edge) != nowhere) ++start[end(edge) + 1];
  }
  for (std::size_t node = 0; node < nodes; ++node) start[node + 1] += start[node];
  sorted.resize(start.back());
  // NOLINTNEXTLINE(misc-const-correctness): it is written to below, through a call that depends on the template.
  std::vector<EdgeIndex> next(start.begin(), start.end() - 1);
  for (EdgeIndex edge = 0; edge < edges; ++edge) {
    if (end(edge) != nowhere) sorted[next[end(edge)]++] = edge;
  }
}

}  // namespace

Graph::Graph(const model::Workflow& workflow) : workflow_(&workflow) {
  by_id_.reserve(workflow.nodes.size());
  for (NodeIndex i = 0; i < workflow.nodes.size(); ++i) {
    if (!workflow.nodes[i].id.empty()) by_id_.try_emplace(workflow.nodes[i].id, i);
  }
  ends_.reserve(workflow.edges.size());
  for (const model::Edge& edge : workflow.edges) {
    const auto from = find(edge.source);
    const auto to = find(edge.target);
    ends_.push_back(from && to ? Ends{*from, *to} : Ends{nowhere, nowhere});
  }
  const std::size_t nodes = workflow.nodes.size();
  sort_edges(nodes, ends_.size(), [&](EdgeIndex edge) { return ends_[edge].source; }, outgoing_, outgoing_start_);
  sort_edges(nodes, ends_.size(), [&](EdgeIndex edge) { return ends_[edge].target; }, incoming_, incoming_start_);
}

std::optional<NodeIndex> Graph::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found != by_id_.end() ? std::optional(found->second) : std::nullopt;
}

bool Graph::is_connected(EdgeIndex edge) const { return ends_[edge].source != nowhere; }

std::size_t Graph::forward_incoming(NodeIndex node) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(incoming(node), [&](EdgeIndex edge) { return !is_loop(edge); }));
}

}  // namespace reeve::graph
