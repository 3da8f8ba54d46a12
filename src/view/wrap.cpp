#include "view/wrap.h"

#include <algorithm>

#include "base/text.h"

namespace reeve::view {

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  if (columns == 0) return std::string(text);
  std::string wrapped;
  std::size_t used = indent;
  for (const std::string_view word : base::split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t width = base::display_width(word);
    const bool is_first = used == indent;
    if (!is_first && used + 1 + width > columns) {
      wrapped += '\n';
      wrapped.append(indent, ' ');
      used = indent;
    } else if (!is_first) {
      wrapped += ' ';
      ++used;
    }
    wrapped += word;
    used += width;
  }
  return wrapped;
}

std::string wrap_paragraphs(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  constexpr std::string_view gap = "\n\n";
  std::string wrapped;
  while (true) {
    const std::size_t end = text.find(gap);
    std::string paragraph(text.substr(0, end));
    std::ranges::replace(paragraph, '\n', ' ');
    wrapped += wrap(paragraph, columns);
    if (end == std::string_view::npos) return wrapped;
    wrapped += gap;
    text.remove_prefix(end + gap.size());
  }
}

}  // namespace reeve::view
