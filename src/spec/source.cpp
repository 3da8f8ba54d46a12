#include "spec/source.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace reeve::spec {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)), lines_{0} {
  for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', end + 1)) {
    lines_.push_back(end + 1);
  }
}

std::string_view Source::line(std::size_t number) const noexcept {
  if (number == 0 || number > lines_.size()) return {};
  return base::line_around(text_, lines_[number - 1]);
}

base::Place Source::place(std::size_t line_number, std::size_t column, std::size_t length) const {
  // A line of a megabyte helps nobody; the caret's column stays true.
  constexpr std::size_t longest_shown = 400;
  const std::string_view shown = base::truncate_utf8(line(line_number), longest_shown);
  return {.file = name_,
          .line = line_number,
          .column = column,
          .length = std::max<std::size_t>(length, 1),
          .source_line = std::string(shown)};
}

}  // namespace reeve::spec
