#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/style.h"

namespace reeve::view {

// A listing: on a terminal aligned under headings and as wide as the terminal at most, else tab-separated without them
// (UX).
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

  struct Cell {
    std::string text;
    std::optional<Tint> tint = {};
  };

  // Where there is too little room, this column is shortened before any other.
  void shorten_first(std::size_t column) { first_shortened_ = column; }

  // As many cells as headings. What could harm a terminal or break a row is made visible.
  void add(const std::vector<std::string>& cells);
  void add(std::vector<Cell> cells);

  std::string for_terminal(const Style& style) const;
  std::string for_pipe() const;

 private:
  // How wide each column is drawn: empty ones not at all, the widest ones shortened until all fit.
  std::vector<std::size_t> fitted_widths(std::size_t columns) const;

  std::vector<std::string> headings_;
  std::optional<std::size_t> first_shortened_ = {};
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace reeve::view
