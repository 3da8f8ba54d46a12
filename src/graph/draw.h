#pragma once

#include <cstddef>
#include <string>

#include "graph/graph.h"

// Drawings of a workflow that validation accepted (GRF-15).
namespace reeve::graph {

struct DrawOptions {
  // Lines and signs of ASCII only.
  bool ascii = false;
  // What the drawing must fit into.
  std::size_t columns = 100;
};

// For a terminal: boxes and lines where they fit, else a list by levels. Ends with a newline.
std::string draw_text(const Graph& graph, const DrawOptions& options);
// Always the list.
std::string draw_list(const Graph& graph, const DrawOptions& options);
// For a page: a Mermaid flowchart, a Graphviz digraph.
std::string draw_mermaid(const Graph& graph);
std::string draw_dot(const Graph& graph);

}  // namespace reeve::graph
