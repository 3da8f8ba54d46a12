#pragma once

#include <cstddef>
#include <vector>

namespace reeve::graph {

// Lines that share one horizontal segment between two levels: they come down from the sources' columns, run along one
// row and go down to the targets' columns.
struct Wire {
  std::vector<std::size_t> sources;
  std::vector<std::size_t> targets;
  // Row from the top of the channel; wires that cannot touch may share one.
  std::size_t row = 0;

  std::size_t left() const;
  std::size_t right() const;
  bool is_straight() const { return left() == right(); }
};

// Assigns a row to each wire such that no two overlap in a row or a column, as far as possible without bends. Returns
// the number of rows used; straight wires need none.
std::size_t assign_rows(std::vector<Wire>& wires);

}  // namespace reeve::graph
