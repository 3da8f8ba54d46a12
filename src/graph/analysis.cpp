#include "graph/analysis.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace reeve::graph {

namespace {

constexpr std::size_t unvisited = std::numeric_limits<std::size_t>::max();

// Tarjan's strongly connected components with an explicit stack, over the edges that `keeps` allows.
template <class Keeps>
class Components {
 public:
  Components(const Graph& graph, Keeps keeps) : graph_(graph), keeps_(keeps), nodes_(graph.node_count()) {}

  // The number of each node's component.
  std::vector<std::size_t> find() {
    for (NodeIndex node = 0; node < graph_.node_count(); ++node) {
      if (nodes_[node].order == unvisited) visit(node);
    }
    std::vector<std::size_t> result;
    result.reserve(nodes_.size());
    for (const State& state : nodes_) result.push_back(state.component);
    return result;
  }

 private:
  struct State {
    std::size_t order = unvisited;
    std::size_t low = 0;
    std::size_t component = unvisited;
    std::size_t next_edge = 0;
  };

  void enter(NodeIndex node) {
    nodes_[node].order = nodes_[node].low = counter_++;
    path_.push_back(node);
    open_.push_back(node);
  }

  void visit(NodeIndex root) {
    enter(root);
    while (!path_.empty()) {
      const NodeIndex node = path_.back();
      State& state = nodes_[node];
      const auto edges = graph_.outgoing(node);
      if (state.next_edge == edges.size()) {
        leave(node);
        continue;
      }
      const EdgeIndex edge = edges[state.next_edge++];
      if (!keeps_(edge)) continue;
      const NodeIndex target = graph_.target(edge);
      if (nodes_[target].order == unvisited) {
        enter(target);
      } else if (nodes_[target].component == unvisited) {
        state.low = std::min(state.low, nodes_[target].order);
      }
    }
  }

  void leave(NodeIndex node) {
    path_.pop_back();
    if (!path_.empty()) {
      State& parent = nodes_[path_.back()];
      parent.low = std::min(parent.low, nodes_[node].low);
    }
    if (nodes_[node].low != nodes_[node].order) return;
    NodeIndex member = 0;
    do {
      member = open_.back();
      open_.pop_back();
      nodes_[member].component = components_;
    } while (member != node);
    ++components_;
  }

  const Graph& graph_;
  Keeps keeps_;
  std::vector<State> nodes_;
  std::vector<NodeIndex> path_;
  std::vector<NodeIndex> open_;
  std::size_t counter_ = 0;
  std::size_t components_ = 0;
};

// The shortest path from a node back to itself within its component.
template <class Keeps>
std::vector<NodeIndex> find_way_back(const Graph& graph, NodeIndex start, const std::vector<std::size_t>& component,
                                     Keeps keeps) {
  std::vector<NodeIndex> queue = {start};
  std::unordered_map<NodeIndex, NodeIndex> came_from;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const EdgeIndex edge : graph.outgoing(queue[i])) {
      const NodeIndex target = graph.target(edge);
      if (!keeps(edge) || component[target] != component[start]) continue;
      if (target == start) {
        std::vector<NodeIndex> way;
        for (NodeIndex node = queue[i]; node != start; node = came_from.at(node)) way.push_back(node);
        way.push_back(start);
        std::ranges::reverse(way);
        return way;
      }
      if (came_from.try_emplace(target, queue[i]).second) queue.push_back(target);
    }
  }
  return {};
}

// One cycle for each component that has one.
template <class Keeps>
void add_cycles(const Graph& graph, WildCycle::Kind kind, Keeps keeps, std::vector<WildCycle>& cycles) {
  const std::vector<std::size_t> component = Components(graph, keeps).find();
  std::vector<bool> told(graph.node_count(), false);
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    if (told[component[node]]) continue;
    told[component[node]] = true;
    std::vector<NodeIndex> way = find_way_back(graph, node, component, keeps);
    if (!way.empty()) cycles.push_back({kind, std::move(way)});
  }
}

bool is_branch(const Graph& graph, NodeIndex node) { return graph.node(node).type == model::NodeType::branch; }

// Whether some step of the cycle exists only as a loop edge.
bool passes_loop_edge(const Graph& graph, const std::vector<NodeIndex>& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const NodeIndex next = cycle[(i + 1) % cycle.size()];
    const bool has_plain_edge = std::ranges::any_of(
        graph.outgoing(cycle[i]), [&](EdgeIndex edge) { return graph.target(edge) == next && !graph.is_loop(edge); });
    if (!has_plain_edge) return true;
  }
  return false;
}

// Nodes reachable from `from` over forward edges on levels up to `last`.
std::vector<NodeIndex> walk_down(const Graph& graph, const Levels& levels, NodeIndex from, std::size_t last,
                                 std::vector<bool>& seen) {
  std::vector<NodeIndex> found = {from};
  seen[from] = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const EdgeIndex edge : graph.outgoing(found[i])) {
      const NodeIndex target = graph.target(edge);
      if (graph.is_loop(edge) || seen[target] || levels.of_node[target] > last) continue;
      seen[target] = true;
      found.push_back(target);
    }
  }
  return found;
}

}  // namespace

std::vector<bool> find_reachable(const Graph& graph, NodeIndex from) {
  std::vector<bool> seen(graph.node_count(), false);
  std::vector<NodeIndex> queue = {from};
  seen[from] = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const EdgeIndex edge : graph.outgoing(queue[i])) {
      const NodeIndex target = graph.target(edge);
      if (!seen[target]) queue.push_back(target);
      seen[target] = true;
    }
  }
  return seen;
}

std::vector<WildCycle> find_wild_cycles(const Graph& graph) {
  std::vector<WildCycle> cycles;
  add_cycles(graph, WildCycle::Kind::no_loop_edge, [&](EdgeIndex edge) { return !graph.is_loop(edge); }, cycles);
  const std::size_t told = cycles.size();
  const auto without_branches = [&](EdgeIndex edge) {
    return !is_branch(graph, graph.source(edge)) && !is_branch(graph, graph.target(edge));
  };
  add_cycles(graph, WildCycle::Kind::no_branch, without_branches, cycles);
  // A cycle without any loop edge was already reported as the first kind.
  const auto repeated = [&](const WildCycle& cycle) { return !passes_loop_edge(graph, cycle.nodes); };
  cycles.erase(std::remove_if(cycles.begin() + static_cast<std::ptrdiff_t>(told), cycles.end(), repeated),
               cycles.end());
  return cycles;
}

Levels find_levels(const Graph& graph) {
  const NodeIndex count = graph.node_count();
  Levels levels{std::vector<std::size_t>(count, 0), {}};
  std::vector<std::size_t> waits_for(count);
  std::vector<NodeIndex> queue;
  for (NodeIndex node = 0; node < count; ++node) {
    waits_for[node] = graph.forward_incoming(node);
    if (waits_for[node] == 0) queue.push_back(node);
  }
  std::size_t depth = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::size_t level = levels.of_node[queue[i]];
    depth = std::max(depth, level + 1);
    for (const EdgeIndex edge : graph.outgoing(queue[i])) {
      if (graph.is_loop(edge)) continue;
      const NodeIndex target = graph.target(edge);
      levels.of_node[target] = std::max(levels.of_node[target], level + 1);
      if (--waits_for[target] == 0) queue.push_back(target);
    }
  }
  REEVE_ASSERT(queue.size() == count);
  levels.nodes.resize(depth);
  for (NodeIndex node = 0; node < count; ++node) levels.nodes[levels.of_node[node]].push_back(node);
  return levels;
}

std::vector<NodeIndex> find_critical_path(const Graph& graph, const Levels& levels) {
  if (levels.nodes.empty()) return {};
  // A node's level is the length of the longest path to it, so the way back goes up one level at a time.
  std::vector<NodeIndex> path = {levels.nodes.back().front()};
  while (levels.of_node[path.back()] > 0) {
    const std::size_t above = levels.of_node[path.back()] - 1;
    const auto incoming = graph.incoming(path.back());
    const auto edge = std::ranges::find_if(incoming, [&](EdgeIndex candidate) {
      return !graph.is_loop(candidate) && levels.of_node[graph.source(candidate)] == above;
    });
    REEVE_ASSERT(edge != incoming.end());
    path.push_back(graph.source(*edge));
  }
  std::ranges::reverse(path);
  return path;
}

std::vector<NodeIndex> find_loop_body(const Graph& graph, const Levels& levels, EdgeIndex loop_edge) {
  const NodeIndex first = graph.target(loop_edge);
  const NodeIndex last = graph.source(loop_edge);
  std::vector<bool> below(graph.node_count(), false);
  walk_down(graph, levels, first, levels.of_node[last], below);
  if (!below[last]) return {};
  std::vector<NodeIndex> body = {last};
  std::vector<bool> seen(graph.node_count(), false);
  seen[last] = true;
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (const EdgeIndex edge : graph.incoming(body[i])) {
      const NodeIndex source = graph.source(edge);
      if (graph.is_loop(edge) || seen[source] || !below[source]) continue;
      seen[source] = true;
      body.push_back(source);
    }
  }
  std::ranges::sort(body);
  return body;
}

std::optional<NodeIndex> find_meeting_merge(const Graph& graph, const Levels& levels, std::span<const NodeIndex> from) {
  std::vector<std::size_t> reached_by(graph.node_count(), 0);
  for (const NodeIndex start : from) {
    std::vector<bool> seen(graph.node_count(), false);
    for (const NodeIndex node : walk_down(graph, levels, start, levels.nodes.size(), seen)) ++reached_by[node];
  }
  std::optional<NodeIndex> nearest;
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    if (graph.node(node).type != model::NodeType::merge || reached_by[node] != from.size()) continue;
    if (!nearest || levels.of_node[node] < levels.of_node[*nearest]) nearest = node;
  }
  return nearest;
}

std::vector<NodeIndex> find_exits(const Graph& graph) {
  std::vector<NodeIndex> exits;
  for (const std::string& id : graph.workflow().exit_points) {
    if (const auto node = graph.find(id)) exits.push_back(*node);
  }
  if (!graph.workflow().exit_points.empty()) return exits;
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    if (graph.outgoing(node).empty()) exits.push_back(node);
  }
  return exits;
}

}  // namespace reeve::graph
