#include "cli/gate/line_change.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t context_lines = 3;

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string describe_line_change(std::string_view before, std::string_view after, const view::Style& style) {
  const auto old_lines = split_lines(before);
  const auto new_lines = split_lines(after);
  const std::size_t least = std::min(old_lines.size(), new_lines.size());
  std::size_t same_above = 0;
  while (same_above < least && old_lines[same_above] == new_lines[same_above]) ++same_above;
  std::size_t same_below = 0;
  while (same_below < least - same_above &&
         old_lines[old_lines.size() - 1 - same_below] == new_lines[new_lines.size() - 1 - same_below]) {
    ++same_below;
  }
  std::string text;
  const auto add = [&](std::string_view sign, std::string_view line) {
    const std::string shown = std::string(sign) + base::visible(line);
    text += sign == "+ "   ? style.paint(view::Tint::green, shown)
            : sign == "- " ? style.paint(view::Tint::red, shown)
                           : shown;
    text += '\n';
  };
  for (std::size_t i = same_above - std::min(same_above, context_lines); i < same_above; ++i) add("  ", old_lines[i]);
  for (std::size_t i = same_above; i < old_lines.size() - same_below; ++i) add("- ", old_lines[i]);
  for (std::size_t i = same_above; i < new_lines.size() - same_below; ++i) add("+ ", new_lines[i]);
  const std::size_t below = old_lines.size() - same_below;
  for (std::size_t i = below; i < std::min(below + context_lines, old_lines.size()); ++i) add("  ", old_lines[i]);
  return text;
}

}  // namespace reeve::cli
