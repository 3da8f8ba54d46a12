#include "view/style.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace reeve::view {

std::string Style::paint(Tint tint, std::string_view text) const {
  if (!color || text.empty()) return std::string(text);
  static constexpr std::array<int, 7> codes = {31, 33, 32, 36, 35, 1, 2};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(tint)], text);
}

std::string Style::words(std::string_view text) const {
  if (!ascii) return std::string(text);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> spellings = {{
      {"→", "->"},
      {"…", "..."},
      {"×", "x"},
      {"«", "\""},
      {"»", "\""},
      {"–", "-"},
  }};
  std::string result(text);
  for (const auto& [sign, spelling] : spellings) {
    for (std::size_t at = result.find(sign); at != std::string::npos; at = result.find(sign, at + spelling.size())) {
      result.replace(at, sign.size(), spelling);
    }
  }
  return result;
}

}  // namespace reeve::view
