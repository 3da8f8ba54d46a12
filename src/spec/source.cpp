#include "spec/source.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace reeve::spec {

// Line ends as in YAML: LF, CR LF, or a lone CR.
Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)), lines_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const bool is_pair = text_[i] == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n';
    if (text_[i] == '\n' || (text_[i] == '\r' && !is_pair)) lines_.push_back(i + 1);
  }
}

std::string_view Source::line(std::size_t number) const noexcept {
  if (number == 0 || number > lines_.size()) return {};
  const std::size_t start = lines_[number - 1];
  const std::string_view rest = std::string_view(text_).substr(start);
  return rest.substr(0, rest.find_first_of("\r\n"));
}

base::Place Source::place(std::size_t line_number, std::size_t column, std::size_t length) const {
  constexpr std::size_t longest_shown = 400;
  std::string_view shown = line(line_number);
  std::size_t shown_column = column;
  if (shown.size() > longest_shown) {
    const std::size_t skipped = column > longest_shown / 2 ? column - longest_shown / 2 : 0;
    shown.remove_prefix(base::byte_offset(shown, skipped));
    shown = base::truncate_utf8(shown, longest_shown);
    shown_column -= skipped;
  }
  return {.file = name_,
          .line = line_number,
          .column = column,
          .length = std::max<std::size_t>(length, 1),
          .source_line = std::string(shown),
          .source_column = shown_column};
}

}  // namespace reeve::spec
