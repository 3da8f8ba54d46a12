#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

// Text without a locale: ASCII rules for case and classes, UTF-8 for everything else.
namespace reeve::base {

bool is_ascii_letter(char c) noexcept;
bool is_ascii_digit(char c) noexcept;
std::string to_ascii_lower(std::string_view text);
std::string to_ascii_upper(std::string_view text);
std::string_view trim(std::string_view text) noexcept;
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& words, std::string_view separator);

// Offset of the first byte that is no part of well-formed UTF-8 (no surrogates, no overlong forms), if there is one.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;
struct Character {
  char32_t value = 0;
  // Bytes taken: of the character, or of the maximal ill-formed part.
  std::size_t length = 1;
  bool is_valid = false;
};
// The first of a text that is not empty.
Character first_character(std::string_view text) noexcept;
// What a terminal may act on instead of showing: control characters, marks that turn the direction of text.
bool is_harmful(char32_t character) noexcept;

// The same text with each maximal ill-formed part as one U+FFFD (RUN-16).
std::string replace_invalid_utf8(std::string_view text);
// The longest prefix of at most `max_bytes` that does not cut a character in two.
std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) noexcept;
std::size_t count_characters(std::string_view utf8) noexcept;
// Where the character of that number begins; the end of a text that has fewer.
std::size_t byte_offset(std::string_view utf8, std::size_t characters) noexcept;
// Columns on a terminal: wide characters (East Asian, emoji) count two, combining ones none.
std::size_t display_width(std::string_view utf8) noexcept;
// The longest prefix that fits into that many columns; where something was cut it ends with "…" (or "~" in ASCII).
std::string fit_width(std::string_view utf8, std::size_t columns, bool ascii);

struct TextPosition {
  std::size_t line;    // from 1
  std::size_t column;  // from 1, in characters
};
TextPosition position_of(std::string_view text, std::size_t offset) noexcept;
// The line around that offset, without its end.
std::string_view line_around(std::string_view text, std::size_t offset) noexcept;

// How many insertions, deletions, replacements and swaps of neighbours turn one into the other, ignoring ASCII case;
// one more than `most` when it is more than that. Looks at no more than 64 bytes of each.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most = 64);

// The candidate that somebody who typed `name` most likely meant: close enough, and the closest. For «did you mean».
std::optional<std::string> find_closest(std::string_view name, const std::vector<std::string>& candidates);

// `word` in the backquotes in which messages name things, with what could harm a terminal made visible.
std::string quoted(std::string_view word);
// Control characters and ill-formed bytes as visible text (\x1b, \u009b), so that the result can be shown anywhere
// (LOG-3). Tabs and newlines too.
std::string visible(std::string_view text);

}  // namespace reeve::base
