#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::graph {

// A grid of characters in which lines join where they meet. Grows as needed.
class Canvas {
 public:
  explicit Canvas(bool ascii) : ascii_(ascii) {}

  // Lines include both ends and join existing lines.
  void draw_vertical(std::size_t x, std::size_t top, std::size_t bottom);
  void draw_horizontal(std::size_t y, std::size_t left, std::size_t right);
  void draw_box(std::size_t x, std::size_t y, std::size_t width, std::size_t height);
  // Text covers lines. Each character takes its terminal width.
  void write(std::size_t x, std::size_t y, std::string_view text);
  void draw_arrow_down(std::size_t x, std::size_t y) { write(x, y, ascii_ ? "v" : "▼"); }
  void draw_arrow_left(std::size_t x, std::size_t y) { write(x, y, ascii_ ? "<" : "◄"); }

  // Lines without trailing blanks, each with a newline.
  std::string text() const;

 private:
  struct Cell {
    // Directions in which lines leave the cell.
    std::uint8_t lines = 0;
    // The character that covers them, if any. A wide character is followed by hidden cells.
    std::string cover;
    bool is_hidden = false;
  };
  enum Direction : std::uint8_t { up = 1, down = 2, left_side = 4, right_side = 8 };

  Cell& at(std::size_t x, std::size_t y);
  void join(std::size_t x, std::size_t y, unsigned directions);
  std::string_view sign(const Cell& cell) const;

  bool ascii_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace reeve::graph
