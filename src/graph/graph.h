#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/workflow.h"

namespace reeve::graph {

// Indices into the workflow's lists.
using NodeIndex = std::uint32_t;
using EdgeIndex = std::uint32_t;

// A workflow by index instead of by name: neighbours in constant time. Built once per workflow and shared; the workflow
// must outlive it. Accepts any workflow, even an invalid one: of nodes with the same id the first is used, edges to
// missing nodes are ignored.
class Graph {
 public:
  explicit Graph(const model::Workflow& workflow);

  const model::Workflow& workflow() const noexcept { return *workflow_; }
  NodeIndex node_count() const noexcept { return static_cast<NodeIndex>(workflow_->nodes.size()); }
  const model::Node& node(NodeIndex index) const { return workflow_->nodes[index]; }
  const model::Edge& edge(EdgeIndex index) const { return workflow_->edges[index]; }

  std::optional<NodeIndex> find(std::string_view id) const;
  // Whether both ends exist; otherwise source() and target() are invalid.
  bool is_connected(EdgeIndex edge) const;
  NodeIndex source(EdgeIndex edge) const { return ends_[edge].source; }
  NodeIndex target(EdgeIndex edge) const { return ends_[edge].target; }
  bool is_loop(EdgeIndex edge) const { return workflow_->edges[edge].is_loop_edge; }

  // In file order.
  std::span<const EdgeIndex> outgoing(NodeIndex node) const { return slice(outgoing_, outgoing_start_, node); }
  std::span<const EdgeIndex> incoming(NodeIndex node) const { return slice(incoming_, incoming_start_, node); }
  // Incoming edges that count for readiness (GRF-4): all but loop edges.
  std::size_t forward_incoming(NodeIndex node) const;

 private:
  struct Ends {
    NodeIndex source;
    NodeIndex target;
  };

  static std::span<const EdgeIndex> slice(const std::vector<EdgeIndex>& edges, const std::vector<EdgeIndex>& start,
                                          NodeIndex node) {
    return std::span(edges).subspan(start[node], start[node + 1] - start[node]);
  }

  const model::Workflow* workflow_;
  std::unordered_map<std::string_view, NodeIndex> by_id_;
  std::vector<Ends> ends_;
  // All edges grouped by node, and the index where each group begins.
  std::vector<EdgeIndex> outgoing_;
  std::vector<EdgeIndex> outgoing_start_;
  std::vector<EdgeIndex> incoming_;
  std::vector<EdgeIndex> incoming_start_;
};

}  // namespace reeve::graph
