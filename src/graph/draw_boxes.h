#pragma once

#include <optional>
#include <string>

#include "graph/analysis.h"
#include "graph/draw.h"

namespace reeve::graph {

// Boxes by levels with lines between them; nullopt if they do not fit into the columns.
std::optional<std::string> draw_boxes(const Graph& graph, const Levels& levels, const DrawOptions& options);

}  // namespace reeve::graph
