#pragma once

#include <string>

#include "graph/graph.h"

// Descriptions of nodes and edges, shared by all drawings.
namespace reeve::graph {

// "task debugger", "branch test_status == passed", "merge all": the type and its main property.
std::string describe_node(const model::Node& node);
// "on_true", "approved == true"; empty for an edge that is always taken.
std::string describe_edge(const Graph& graph, EdgeIndex edge);
// "test_status == passed".
std::string describe_condition(const model::Condition& condition);

}  // namespace reeve::graph
