#include "graph/canvas.h"

#include <array>

#include "base/text.h"

namespace reeve::graph {

namespace {

// Indexed by directions: up 1, down 2, left 4, right 8.
constexpr std::array<std::string_view, 16> joints = {" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                                     "─", "└", "┌", "├", "─", "┴", "┬", "┼"};
constexpr std::array<std::string_view, 16> ascii_joints = {" ", "|", "|", "|", "-", "+", "+", "+",
                                                           "-", "+", "+", "+", "-", "+", "+", "+"};

}  // namespace

Canvas::Cell& Canvas::at(std::size_t x, std::size_t y) {
  if (rows_.size() <= y) rows_.resize(y + 1);
  if (rows_[y].size() <= x) rows_[y].resize(x + 1);
  return rows_[y][x];
}

void Canvas::join(std::size_t x, std::size_t y, unsigned directions) {
  Cell& cell = at(x, y);
  cell.lines = static_cast<std::uint8_t>(cell.lines | directions);
}

void Canvas::draw_vertical(std::size_t x, std::size_t top, std::size_t bottom) {
  for (std::size_t y = top; y <= bottom; ++y) join(x, y, (y > top ? up : 0U) | (y < bottom ? down : 0U));
}

void Canvas::draw_horizontal(std::size_t y, std::size_t left, std::size_t right) {
  for (std::size_t x = left; x <= right; ++x) join(x, y, (x > left ? left_side : 0U) | (x < right ? right_side : 0U));
}

void Canvas::draw_box(std::size_t x, std::size_t y, std::size_t width, std::size_t height) {
  draw_horizontal(y, x, x + width - 1);
  draw_horizontal(y + height - 1, x, x + width - 1);
  draw_vertical(x, y, y + height - 1);
  draw_vertical(x + width - 1, y, y + height - 1);
}

void Canvas::write(std::size_t x, std::size_t y, std::string_view text) {
  while (!text.empty()) {
    std::size_t length = 1;
    while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) ++length;
    const std::string_view character = text.substr(0, length);
    const std::size_t width = base::display_width(character);
    if (width == 0 && x > 0) {
      // Appended to the character that it combines with, which may be a wide one.
      std::size_t before = x - 1;
      while (before > 0 && at(before, y).is_hidden) --before;
      at(before, y).cover += character;
    } else {
      at(x, y).cover = character;
      for (std::size_t i = 1; i < width; ++i) at(x + i, y).is_hidden = true;
      x += width;
    }
    text.remove_prefix(length);
  }
}

std::string_view Canvas::sign(const Cell& cell) const {
  if (!cell.cover.empty()) return cell.cover;
  return (ascii_ ? ascii_joints : joints)[cell.lines];
}

std::string Canvas::text() const {
  std::string result;
  for (const std::vector<Cell>& row : rows_) {
    std::string line;
    for (const Cell& cell : row) {
      if (!cell.is_hidden) line += sign(cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line;
    result += '\n';
  }
  return result;
}

}  // namespace reeve::graph
