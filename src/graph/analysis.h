#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

// Properties of a workflow's shape (GRF-1, GRF-15). No function is recursive; each is linear in nodes and edges,
// find_meeting_merge per branch.
namespace reeve::graph {

// The nodes reachable over any edges, including `from` itself.
std::vector<bool> find_reachable(const Graph& graph, NodeIndex from);

// A cycle without a limit, one example per strongly connected component. The first kind contains no loop edge, the
// second contains one but no branch node to count its iterations.
struct WildCycle {
  enum class Kind { no_loop_edge, no_branch };
  Kind kind;
  // In order; the first follows the last.
  std::vector<NodeIndex> nodes;
};
std::vector<WildCycle> find_wild_cycles(const Graph& graph);

// Nodes in execution order, ignoring loop edges: a level starts when the previous ones are done, and the nodes of one
// level can run in parallel. Only for a graph without wild cycles.
struct Levels {
  std::vector<std::size_t> of_node;
  // By level, in file order.
  std::vector<std::vector<NodeIndex>> nodes;
};
Levels find_levels(const Graph& graph);

// The longest chain of dependent nodes: no amount of parallelism makes the workflow shorter.
std::vector<NodeIndex> find_critical_path(const Graph& graph, const Levels& levels);

// Every node between the loop edge's target and its source, inclusive, in file order (GRF-5). Empty if the edge does
// not close a loop.
std::vector<NodeIndex> find_loop_body(const Graph& graph, const Levels& levels, EdgeIndex loop_edge);

// The nearest merge node that all of these lead to, ignoring loop edges.
std::optional<NodeIndex> find_meeting_merge(const Graph& graph, const Levels& levels, std::span<const NodeIndex> from);

// The named exit points, or else the nodes without outgoing edges.
std::vector<NodeIndex> find_exits(const Graph& graph);

}  // namespace reeve::graph
