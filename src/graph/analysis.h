#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

// Questions about the shape of a workflow (GRF-1, GRF-15). None recurses; each costs its nodes and edges
// once, find_meeting_merge once for each branch.
namespace reeve::graph {

// Which nodes can be reached from there, itself included, over all edges.
std::vector<bool> find_reachable(const Graph& graph, NodeIndex from);

// Nodes whose way back to themselves nothing bounds, one example for each such knot. The first kind never meets a loop
// edge, the second meets one but no branch node that counts.
struct WildCycle {
  enum class Kind { no_loop_edge, no_branch };
  Kind kind;
  // In order; the first follows the last again.
  std::vector<NodeIndex> nodes;
};
std::vector<WildCycle> find_wild_cycles(const Graph& graph);

// Nodes in the order of work, loop edges left out: a level starts when those before it are done, what stands on one
// level can run at the same time. Only for a graph without wild cycles.
struct Levels {
  std::vector<std::size_t> of_node;
  // By level, in the order of the file.
  std::vector<std::vector<NodeIndex>> nodes;
};
Levels find_levels(const Graph& graph);

// The longest chain of nodes, each waiting for the one before: no amount of parallelism makes the workflow shorter.
std::vector<NodeIndex> find_critical_path(const Graph& graph, const Levels& levels);

// Every node between the loop edge's target and its source, both included, in the order of the file (GRF-5). Empty when
// the edge closes no loop.
std::vector<NodeIndex> find_loop_body(const Graph& graph, const Levels& levels, EdgeIndex loop_edge);

// The merge node that all of these lead to, the nearest; loop edges left out.
std::optional<NodeIndex> find_meeting_merge(const Graph& graph, const Levels& levels, std::span<const NodeIndex> from);

// Those named, else those without outgoing edges.
std::vector<NodeIndex> find_exits(const Graph& graph);

}  // namespace reeve::graph
