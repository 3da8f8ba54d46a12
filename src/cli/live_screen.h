#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace reeve::cli {

// Lines on the terminal behind standard output that are drawn over again in place. What stood above stays.
class LiveScreen {
 public:
  // Each line as wide as the terminal at most. `columns`: how wide it is now, which may have changed since.
  void draw(const std::vector<std::string>& lines, std::size_t columns);
  // What was drawn stays, and what is printed next stands beneath it.
  void leave();

 private:
  // Columns that the lines of the last drawing took, colours left out.
  std::vector<std::size_t> widths_;
};

// Of a text with colours.
std::size_t painted_width(std::string_view text);

}  // namespace reeve::cli
