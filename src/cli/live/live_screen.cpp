#include "cli/live/live_screen.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::cli {

std::size_t painted_width(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_paint = text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[';
    if (!is_paint) {
      plain += text[i];
      continue;
    }
    const std::size_t end = text.find('m', i);
    if (end == std::string_view::npos) break;
    i = end;
  }
  return base::display_width(plain);
}

void LiveScreen::draw(const std::vector<std::string>& lines, std::size_t columns) {
  // If the terminal has become narrower, the old lines take more rows than before.
  std::size_t rows = 0;
  for (const std::size_t width : widths_) rows += std::max<std::size_t>(1, (width + columns - 1) / columns);
  std::string text = "\r";
  if (rows > 1) text += fmt::format("\x1b[{}A", rows - 1);
  widths_.clear();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // A raw terminal needs the carriage return.
    if (i > 0) text += "\r\n";
    text += lines[i] + "\x1b[K";
    widths_.push_back(painted_width(lines[i]));
  }
  text += "\x1b[J";
  std::fwrite(text.data(), 1, text.size(), stdout);
  static_cast<void>(std::fflush(stdout));
}

void LiveScreen::leave() {
  if (widths_.empty()) return;
  widths_.clear();
  std::fputs("\r\n", stdout);
  static_cast<void>(std::fflush(stdout));
}

}  // namespace reeve::cli
