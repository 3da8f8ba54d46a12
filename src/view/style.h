#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Terminal styling. Colour is never the only signal.
namespace reeve::view {

enum class Tint { red, yellow, green, cyan, magenta, bold, dim };

struct Style {
  bool color = false;
  bool ascii = false;
  // The width of the terminal; 0 for no limit.
  std::size_t columns = 0;

  std::string paint(Tint tint, std::string_view text) const;
  std::string_view pick(std::string_view unicode, std::string_view plain) const { return ascii ? plain : unicode; }
  // With `ascii`, replaces quotes, arrows and dashes of Reeve's own messages by ASCII.
  std::string words(std::string_view text) const;
};

}  // namespace reeve::view
