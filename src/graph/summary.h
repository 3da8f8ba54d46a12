#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/describe.h"

namespace reeve::graph {

struct LoopSummary {
  std::string edge_id;
  std::string source;
  std::string target;
  // Maximum number of times that the edge may be taken.
  std::int64_t max_iterations = 0;
  // Number of repeated nodes, and the first of them.
  std::int64_t body_size = 0;
  std::vector<std::string> body;
  friend bool operator==(const LoopSummary&, const LoopSummary&) = default;
};
BOOST_DESCRIBE_STRUCT(LoopSummary, (), (edge_id, source, target, max_iterations, body_size, body))

// The analysis of a valid workflow (GRF-15), with names instead of indices.
struct Summary {
  std::vector<std::vector<std::string>> levels;
  std::vector<std::string> critical_path;
  std::vector<LoopSummary> loops;
  std::vector<std::string> exits;
  // The maximum number of nodes that can run in parallel, before `max_parallel_nodes` is applied.
  std::size_t widest_level = 0;
  friend bool operator==(const Summary&, const Summary&) = default;
};
BOOST_DESCRIBE_STRUCT(Summary, (), (levels, critical_path, loops, exits, widest_level))

// Only for a validated graph.
Summary summarize(const Graph& graph);

// The iteration limit of a loop edge: that of the branch node it leaves, or else the lowest one in its body.
std::int64_t find_loop_limit(const Graph& graph, EdgeIndex loop_edge, const std::vector<NodeIndex>& body);

}  // namespace reeve::graph
