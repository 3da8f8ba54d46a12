#pragma once

#include <cstddef>
#include <vector>

namespace reeve::graph {

// Lines that share one horizontal stretch between two levels: they come down from the sources' columns, run along one
// row and go down to the targets' columns.
struct Wire {
  std::vector<std::size_t> sources;
  std::vector<std::size_t> targets;
  // Rows from the top of the channel; equal for wires that cannot touch.
  std::size_t row = 0;

  std::size_t left() const;
  std::size_t right() const;
  bool is_straight() const { return left() == right(); }
};

// Gives each wire a row so that two never run along the same stretch of a row or a column, as far as that can be done
// without bends. Returns how many rows are used; straight wires need none.
std::size_t assign_rows(std::vector<Wire>& wires);

}  // namespace reeve::graph
