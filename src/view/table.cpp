#include "view/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::view {

void Table::add(const std::vector<std::string>& cells) {
  REEVE_ASSERT(cells.size() == headings_.size());
  std::vector<std::string> row;
  for (const std::string& cell : cells) row.push_back(base::visible(cell));
  rows_.push_back(std::move(row));
}

std::string Table::for_terminal(const Style& style) const {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(base::display_width(heading));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], base::display_width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += cells[i];
      if (i + 1 < cells.size()) text.append(widths[i] - base::display_width(cells[i]) + 2, ' ');
    }
    return text;
  };
  std::string text = style.paint(Tint::dim, line(headings_)) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

std::string Table::for_pipe() const {
  std::string text;
  for (const auto& row : rows_) text += base::join(row, "\t") + "\n";
  return text;
}

}  // namespace reeve::view
