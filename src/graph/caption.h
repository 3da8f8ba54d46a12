#pragma once

#include <string>

#include "graph/graph.h"

// The words that all drawings use for nodes and edges.
namespace reeve::graph {

// "task debugger", "branch test_status == passed", "merge all": its type and what matters about it.
std::string describe_node(const model::Node& node);
// "on_true", "approved == true"; empty for an edge that is always taken.
std::string describe_edge(const Graph& graph, EdgeIndex edge);
// "test_status == passed".
std::string describe_condition(const model::Condition& condition);

}  // namespace reeve::graph
