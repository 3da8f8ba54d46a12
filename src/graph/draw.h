#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/execution.h"

// Drawings of a workflow that validation accepted (GRF-15).
namespace reeve::graph {

// How far a node has come in an execution, and the words for it: "✓ completed 12s".
struct NodeMark {
  model::NodeStatus status = model::NodeStatus::pending;
  std::string text;
};

struct DrawOptions {
  // Lines and signs of ASCII only.
  bool ascii = false;
  // What the drawing must fit into.
  std::size_t columns = 100;
  // Of an execution: one for each node, in the order of the file.
  std::vector<NodeMark> marks = {};
};

// For a terminal: boxes and lines where they fit, else a list by levels. Ends with a newline.
std::string draw_text(const Graph& graph, const DrawOptions& options);
// Always the list.
std::string draw_list(const Graph& graph, const DrawOptions& options);
// For a page: a Mermaid flowchart, a Graphviz digraph.
std::string draw_mermaid(const Graph& graph, const std::vector<NodeMark>& marks = {});
std::string draw_dot(const Graph& graph, const std::vector<NodeMark>& marks = {});

}  // namespace reeve::graph
