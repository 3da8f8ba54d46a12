#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/invisible.h"
#include "base/text.h"

namespace reeve::base {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The blocks that terminals draw two columns wide. Coarse on purpose: whole blocks, no per-character table.
constexpr std::array wide_ranges = {
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},   Range{0x23E9, 0x23EC},
    Range{0x25FD, 0x25FE},   Range{0x2614, 0x2615},   Range{0x2648, 0x2653},   Range{0x26AA, 0x26AB},
    Range{0x26BD, 0x26BE},   Range{0x2705, 0x2705},   Range{0x270A, 0x270B},   Range{0x2728, 0x2728},
    Range{0x274C, 0x274C},   Range{0x2753, 0x2755},   Range{0x2795, 0x2797},   Range{0x2E80, 0x303E},
    Range{0x3041, 0xA4CF},   Range{0xA960, 0xA97F},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD},
};
constexpr std::array zero_ranges = {
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},
    Range{0x064B, 0x065F}, Range{0x200B, 0x200F}, Range{0x202A, 0x202E}, Range{0x2060, 0x2064},
    Range{0x20D0, 0x20F0}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF},
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t character) noexcept {
  return std::ranges::any_of(ranges, [&](Range range) { return character >= range.first && character <= range.last; });
}

// Unicode's Default_Ignorable_Code_Point without the emoji variation selectors, plus others that render as nothing:
// Braille's blank, annotation marks.
constexpr std::array invisible_ranges = {
    Range{0x00AD, 0x00AD},   Range{0x034F, 0x034F},   Range{0x061C, 0x061C},   Range{0x115F, 0x1160},
    Range{0x17B4, 0x17B5},   Range{0x180B, 0x180F},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x206F},   Range{0x2800, 0x2800},   Range{0x3164, 0x3164},   Range{0xFEFF, 0xFEFF},
    Range{0xFFA0, 0xFFA0},   Range{0xFFF0, 0xFFFB},   Range{0x1BCA0, 0x1BCA3}, Range{0x1D159, 0x1D159},
    Range{0x1D173, 0x1D17A}, Range{0xE0000, 0xE0FFF},
};

// Keycaps and emoji; after any other character a variation selector is noise.
bool takes_selector(char32_t character) noexcept {
  return character == '#' || character == '*' || (character >= '0' && character <= '9') || character == 0xA9 ||
         character == 0xAE || (character >= 0x2010 && !(character >= 0xFE00 && character <= 0xFE0F));
}

std::size_t width_of(char32_t character) noexcept {
  if (character < 0x300) return 1;
  if (is_in(zero_ranges, character)) return 0;
  return is_in(wide_ranges, character) ? 2 : 1;
}

}  // namespace

// Unicode 15, table 3-7.
Character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and values beyond U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t character = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const bool continues = i < text.size() && byte(i) >= (i == 1 ? low : 0x80) && byte(i) <= (i == 1 ? high : 0xBF);
    if (!continues) return {0, i, false};
    character = (character << 6U) | (byte(i) & 0x3FU);
  }
  return {character, length, true};
}

bool is_harmful(char32_t character) noexcept {
  return character < 0x20 || (character >= 0x7F && character <= 0x9F) || character == 0x061C || character == 0x200E ||
         character == 0x200F || character == 0x2028 || character == 0x2029 ||
         (character >= 0x202A && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069);
}

bool is_invisible(char32_t character) noexcept {
  if (character < 0x34F) return character == 0xAD;
  // Nearly all other scripts are in this range.
  if (character > 0x3164 && character < 0xFEFF) return false;
  return is_in(invisible_ranges, character);
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
  std::size_t offset = 0;
  while (offset < text.size()) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      ++offset;
      continue;
    }
    const Character decoded = first_character(text.substr(offset));
    if (!decoded.is_valid) return offset;
    offset += decoded.length;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character decoded = first_character(text);
    result.append(decoded.is_valid ? text.substr(0, decoded.length) : std::string_view("\uFFFD"));
    text.remove_prefix(decoded.length);
  }
  return result;
}

std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::size_t count_characters(std::string_view utf8) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::size_t byte_offset(std::string_view utf8, std::size_t characters) noexcept {
  std::size_t offset = 0;
  while (characters > 0 && offset < utf8.size()) {
    ++offset;
    while (offset < utf8.size() && (static_cast<unsigned char>(utf8[offset]) & 0xC0U) == 0x80U) ++offset;
    --characters;
  }
  return offset;
}

std::size_t display_width(std::string_view utf8) noexcept {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const Character decoded = first_character(utf8);
    width += decoded.is_valid ? width_of(decoded.value) : 1;
    utf8.remove_prefix(decoded.length);
  }
  return width;
}

std::string fit_width(std::string_view utf8, std::size_t columns, bool ascii) {
  if (display_width(utf8) <= columns) return std::string(utf8);
  if (columns == 0) return {};
  std::size_t width = 0;
  std::size_t end = 0;
  while (end < utf8.size()) {
    const Character decoded = first_character(utf8.substr(end));
    const std::size_t next = decoded.is_valid ? width_of(decoded.value) : 1;
    if (width + next > columns - 1) break;
    width += next;
    end += decoded.length;
  }
  return fmt::format("{}{}", utf8.substr(0, end), ascii ? "~" : "…");
}

std::string visible(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  char32_t before = 0;
  while (!text.empty()) {
    const Character decoded = first_character(text);
    const bool is_selector = decoded.value >= 0xFE00 && decoded.value <= 0xFE0F;
    if (!decoded.is_valid) {
      for (const char byte : text.substr(0, decoded.length)) {
        fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else if (decoded.value == '\n') {
      result += "\\n";
    } else if (decoded.value == '\t') {
      result += "\\t";
    } else if (is_harmful(decoded.value) || is_invisible(decoded.value) || (is_selector && !takes_selector(before))) {
      const auto number = static_cast<std::uint32_t>(decoded.value);
      if (number < 0x80) {
        fmt::format_to(std::back_inserter(result), "\\x{:02x}", number);
      } else if (number < 0x10000) {
        fmt::format_to(std::back_inserter(result), "\\u{:04x}", number);
      } else {
        fmt::format_to(std::back_inserter(result), "\\u{{{:x}}}", number);
      }
    } else {
      result.append(text.substr(0, decoded.length));
    }
    before = decoded.value;
    text.remove_prefix(decoded.length);
  }
  return result;
}

}  // namespace reeve::base
