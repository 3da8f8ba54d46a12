#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/style.h"

namespace reeve::view {

// A listing: on a terminal aligned under headings and cut to its width, otherwise tab-separated without headings (UX).
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

  struct Cell {
    std::string text;
    std::optional<Tint> tint = {};
  };

  // If the table is too wide, this column is shortened first.
  void shorten_first(std::size_t column) { first_shortened_ = column; }

  // As many cells as headings. Control characters are made visible.
  void add(const std::vector<std::string>& cells);
  void add(std::vector<Cell> cells);

  // The rows of another table with the same headings. Their ids are written `prefix/TR-4`.
  void add_rows_of(const Table& other, std::string_view prefix);

  bool is_empty() const noexcept { return rows_.empty(); }

  std::string for_terminal(const Style& style) const;
  std::string for_pipe() const;

 private:
  // The width of each column: empty ones are omitted, the widest ones shortened until all fit.
  std::vector<std::size_t> fitted_widths(std::size_t columns) const;

  std::vector<std::string> headings_;
  std::optional<std::size_t> first_shortened_ = {};
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace reeve::view
