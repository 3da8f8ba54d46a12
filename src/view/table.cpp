#include "view/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::view {

void Table::add(const std::vector<std::string>& cells) {
  std::vector<Cell> row;
  for (const std::string& cell : cells) row.push_back({cell});
  add(std::move(row));
}

void Table::add(std::vector<Cell> cells) {
  REEVE_ASSERT(cells.size() == headings_.size());
  for (Cell& cell : cells) cell.text = base::visible(cell.text);
  rows_.push_back(std::move(cells));
}

std::string Table::for_terminal(const Style& style) const {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(base::display_width(heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], base::display_width(row[i].text));
  }
  const auto line = [&](const std::vector<Cell>& cells) {
    // Nothing but blanks is left to fill after the last cell that has a text.
    std::size_t last = cells.size();
    while (last > 1 && cells[last - 1].text.empty()) --last;
    std::string text;
    for (std::size_t i = 0; i < last; ++i) {
      text += cells[i].tint ? style.paint(*cells[i].tint, cells[i].text) : cells[i].text;
      if (i + 1 < last) text.append(widths[i] - base::display_width(cells[i].text) + 2, ' ');
    }
    return text;
  };
  std::vector<Cell> headings;
  for (const std::string& heading : headings_) headings.push_back({heading});
  std::string text = style.paint(Tint::dim, line(headings)) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

std::string Table::for_pipe() const {
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "\t" : "") + row[i].text;
    text += '\n';
  }
  return text;
}

}  // namespace reeve::view
