#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/analysis.h"
#include "graph/graph.h"

namespace reeve::graph {

// An item that takes space on a level of the drawing: a node, or a line that passes through to a lower level.
struct Spot {
  // Nullopt for a passing line.
  std::optional<NodeIndex> node;
  std::size_t width = 1;
  // Space for the labels of its lines, to the right of its middle.
  std::size_t label_room = 0;
  // Left edge.
  std::size_t x = 0;

  std::size_t middle() const noexcept { return x + width / 2; }
};

// A line from one level to the next, by index within the levels.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  EdgeIndex edge = 0;
  // Set only on the first segment of an edge.
  std::string label;
};

// Positions of all items: levels from top to bottom, spots from left to right, edges cut into segments of one level.
struct Layout {
  std::vector<std::vector<Spot>> levels;
  // Links between a level and the next; one fewer than levels.
  std::vector<std::vector<Link>> links;
  std::size_t width = 0;
};

// `widths` by node, `labels` by edge. Ignores loop edges. Aims for few crossings, and straight lines where there is
// space.
Layout lay_out(const Graph& graph, const Levels& levels, const std::vector<std::size_t>& widths,
               const std::vector<std::string>& labels);

}  // namespace reeve::graph
