#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// How things look on a terminal. Colour is never the only sign.
namespace reeve::view {

enum class Tint { red, yellow, green, cyan, magenta, bold, dim };

struct Style {
  bool color = false;
  bool ascii = false;
  // Of the terminal; 0 where lines may be as long as they are.
  std::size_t columns = 0;

  std::string paint(Tint tint, std::string_view text) const;
  std::string_view pick(std::string_view unicode, std::string_view plain) const { return ascii ? plain : unicode; }
  // The text with what ASCII does not have spelled in ASCII (quotes, arrows, dashes of Reeve's own messages).
  std::string words(std::string_view text) const;
};

}  // namespace reeve::view
