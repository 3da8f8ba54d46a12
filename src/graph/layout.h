#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis.h"
#include "graph/graph.h"

namespace reeve::graph {

// Something that takes room on a level of the drawing: a node, or a line that passes the level on its way further down.
struct Spot {
  // Nothing for a passing line.
  std::optional<NodeIndex> node;
  std::size_t width = 1;
  // Room for the labels of its lines, to the right of its middle.
  std::size_t label_room = 0;
  // Left edge.
  std::size_t x = 0;

  std::size_t middle() const noexcept { return x + width / 2; }
};

// A line from one level to the next, by positions within the levels.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  EdgeIndex edge = 0;
  // Shown on the first piece of an edge only.
  std::string label;
};

// Where everything stands: levels from top to bottom, spots from left to right, edges cut into pieces of one level.
struct Layout {
  std::vector<std::vector<Spot>> levels;
  // Between a level and the next; one less than levels.
  std::vector<std::vector<Link>> links;
  std::size_t width = 0;
};

// `widths` by node, `labels` by edge. Loop edges take no part. Few crossings, straight lines where there is room.
Layout lay_out(const Graph& graph, const Levels& levels, const std::vector<std::size_t>& widths,
               const std::vector<std::string>& labels);

}  // namespace reeve::graph
