#include "cli/demo/demo_changes.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace reeve::cli {

namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

FileChange compare_files(std::string_view before, std::string_view after, const view::Style& style) {
  const auto old_lines = split(before);
  const auto new_lines = split(after);
  // The number of common lines of the suffixes from (i, j).
  std::vector<std::vector<int>> common(old_lines.size() + 1, std::vector<int>(new_lines.size() + 1, 0));
  for (std::size_t i = old_lines.size(); i-- > 0;) {
    for (std::size_t j = new_lines.size(); j-- > 0;) {
      common[i][j] =
          old_lines[i] == new_lines[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  FileChange change;
  const auto add = [&](std::string_view sign, std::string_view line) {
    const std::string text = std::string(sign) + base::visible(line);
    change.text += sign == "+ "   ? style.paint(view::Tint::green, text)
                   : sign == "- " ? style.paint(view::Tint::red, text)
                                  : text;
    change.text += '\n';
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old_lines.size() || j < new_lines.size()) {
    const bool has_both = i < old_lines.size() && j < new_lines.size();
    if (has_both && old_lines[i] == new_lines[j]) {
      add("  ", old_lines[i]);
      ++i, ++j;
    } else if (i < old_lines.size() && (j == new_lines.size() || common[i + 1][j] >= common[i][j + 1])) {
      add("- ", old_lines[i++]);
      ++change.removed;
    } else {
      add("+ ", new_lines[j++]);
      ++change.added;
    }
  }
  return change;
}

}  // namespace reeve::cli
