#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace reeve::cli {

// Lines on the terminal that are redrawn in place. Earlier output above them stays.
class LiveScreen {
 public:
  // Each line must fit the terminal. `columns` is its current width, which may have changed.
  void draw(const std::vector<std::string>& lines, std::size_t columns);
  // Keeps the last drawing; further output goes below it.
  void leave();

 private:
  // The widths of the lines last drawn, without colour codes.
  std::vector<std::size_t> widths_;
};

// The width of a text with colour codes.
std::size_t painted_width(std::string_view text);

}  // namespace reeve::cli
