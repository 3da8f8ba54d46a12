#include "view/table.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::view {

namespace {

// The gap between columns.
constexpr std::size_t gap = 2;
// A text shorter than this is useless.
constexpr std::size_t least_width = 8;

}  // namespace

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

std::vector<std::size_t> Table::fitted_widths(std::size_t columns) const {
  std::vector<std::size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(base::display_width(heading));
  for (std::size_t i = 0; i < widths.size(); ++i) {
    // Columns without content are not drawn.
    bool is_empty = !rows_.empty();
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], base::display_width(row[i].text));
      is_empty = is_empty && row[i].text.empty();
    }
    if (is_empty && columns > 0) widths[i] = 0;
  }
  if (columns == 0) return widths;
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width > 0 ? width + gap : 0;
    return sum > 0 ? sum - gap : 0;
  };
  // The first column is the id, which is never shortened; the second is the status, shortened only if nothing else can
  // be.
  const auto shorten = [&](std::size_t from, std::size_t count) {
    const auto begin = widths.begin() + static_cast<std::ptrdiff_t>(std::min(from, widths.size()));
    const auto end = begin + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), widths.end() - begin);
    while (total() > columns) {
      const auto widest = std::max_element(begin, end);
      if (widest == end || *widest <= least_width) return;
      --*widest;
    }
  };
  if (first_shortened_) shorten(*first_shortened_, 1);
  shorten(2, widths.size());
  shorten(1, 1);
  return widths;
}

void Table::add_rows_of(const Table& other, std::string_view prefix) {
  for (std::vector<Cell> row : other.rows_) {
    if (!prefix.empty() && !row.empty()) row.front().text.insert(0, fmt::format("{}/", prefix));
    rows_.push_back(std::move(row));
  }
}

std::string Table::for_terminal(const Style& style) const {
  const std::vector<std::size_t> widths = fitted_widths(style.columns);
  const auto line = [&](const std::vector<Cell>& cells) {
    // No padding after the last non-empty cell.
    std::size_t last = cells.size();
    while (last > 1 && (cells[last - 1].text.empty() || widths[last - 1] == 0)) --last;
    std::string text;
    std::size_t room = style.columns > 0 ? style.columns : std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < last && room > 0; ++i) {
      if (widths[i] == 0) continue;
      const std::string shown = base::fit_width(cells[i].text, std::min(widths[i], room), style.ascii);
      const std::size_t width = base::display_width(shown);
      text += cells[i].tint ? style.paint(*cells[i].tint, shown) : shown;
      room -= std::min(room, width);
      if (i + 1 == last) break;
      const std::size_t blanks = std::min(room, widths[i] - std::min(width, widths[i]) + gap);
      text.append(blanks, ' ');
      room -= blanks;
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
