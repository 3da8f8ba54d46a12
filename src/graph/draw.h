#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/execution.h"

// Drawings of a validated workflow (GRF-15).
namespace reeve::graph {

// A node's status in an execution and its text: "✓ completed 12s".
struct NodeMark {
  model::NodeStatus status = model::NodeStatus::pending;
  std::string text;
};

struct DrawOptions {
  // Use only ASCII characters.
  bool ascii = false;
  // Maximum width of the drawing.
  std::size_t columns = 100;
  // For an execution: one per node, in file order.
  std::vector<NodeMark> marks = {};
};

// For a terminal: boxes and lines if they fit, else a list by levels. Ends with a newline.
std::string draw_text(const Graph& graph, const DrawOptions& options);
// Always the list.
std::string draw_list(const Graph& graph, const DrawOptions& options);
// For a web page: a Mermaid flowchart, a Graphviz digraph.
std::string draw_mermaid(const Graph& graph, const std::vector<NodeMark>& marks = {});
std::string draw_dot(const Graph& graph, const std::vector<NodeMark>& marks = {});

}  // namespace reeve::graph
