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
  // How often the edge may be taken.
  std::int64_t max_iterations = 0;
  // How many nodes are done again, and the first of them.
  std::int64_t body_size = 0;
  std::vector<std::string> body;
  friend bool operator==(const LoopSummary&, const LoopSummary&) = default;
};
BOOST_DESCRIBE_STRUCT(LoopSummary, (), (edge_id, source, target, max_iterations, body_size, body))

// What analysis says about a sound workflow (GRF-15), by names.
struct Summary {
  std::vector<std::vector<std::string>> levels;
  std::vector<std::string> critical_path;
  std::vector<LoopSummary> loops;
  std::vector<std::string> exits;
  // The most nodes that can work at the same time, before `max_parallel_nodes` limits them.
  std::size_t widest_level = 0;
  friend bool operator==(const Summary&, const Summary&) = default;
};
BOOST_DESCRIBE_STRUCT(Summary, (), (levels, critical_path, loops, exits, widest_level))

// Only for a graph that validation accepted.
Summary summarize(const Graph& graph);

// The bound of a loop edge: of the branch node that it leaves, else the tightest of the branch nodes in its body.
std::int64_t find_loop_limit(const Graph& graph, EdgeIndex loop_edge, const std::vector<NodeIndex>& body);

}  // namespace reeve::graph
