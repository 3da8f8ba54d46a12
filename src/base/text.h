#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

// Locale-independent text functions: ASCII rules for case and classes, UTF-8 otherwise.
namespace reeve::base {

bool is_ascii_letter(char c) noexcept;
bool is_ascii_digit(char c) noexcept;
std::string to_ascii_lower(std::string_view text);
std::string to_ascii_upper(std::string_view text);
std::string_view trim(std::string_view text) noexcept;
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& words, std::string_view separator);

// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong forms), if any.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;
struct Character {
  char32_t value = 0;
  // Bytes consumed: the character, or the maximal ill-formed subpart.
  std::size_t length = 1;
  bool is_valid = false;
};
// Decodes the first character of a non-empty text.
Character first_character(std::string_view text) noexcept;
// Characters that a terminal may act on instead of showing: control characters and bidirectional formatting marks.
bool is_harmful(char32_t character) noexcept;

// Replaces each maximal ill-formed subpart with one U+FFFD (RUN-16).
std::string replace_invalid_utf8(std::string_view text);
// The longest prefix of at most `max_bytes` that does not split a character.
std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes) noexcept;
std::size_t count_characters(std::string_view utf8) noexcept;
// Offset of the character with that index, or the end of a text with fewer characters.
std::size_t byte_offset(std::string_view utf8, std::size_t characters) noexcept;
// Width in terminal columns: wide characters (East Asian, emoji) take two, combining ones zero.
std::size_t display_width(std::string_view utf8) noexcept;
// The longest prefix that fits into that many columns; ends with "…" (or "~" in ASCII) if something was cut.
std::string fit_width(std::string_view utf8, std::size_t columns, bool ascii);

struct TextPosition {
  std::size_t line;    // from 1
  std::size_t column;  // from 1, in characters
};
TextPosition position_of(std::string_view text, std::size_t offset) noexcept;

// Number of insertions, deletions, replacements and swaps of adjacent characters that turn one text into the other,
// ignoring ASCII case; `most` + 1 if there are more. Compares at most 64 bytes of each.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most = 64);

// The candidate that was most likely meant by `name`: close enough, and the closest. For "did you mean".
std::optional<std::string> find_closest(std::string_view name, const std::vector<std::string>& candidates);

// `word` in backquotes, as messages quote names, with characters that could harm a terminal escaped.
std::string quoted(std::string_view word);
// Escapes control characters and ill-formed bytes (\x1b, \u009b), including tabs and newlines, so that the result can
// be shown anywhere (LOG-3).
std::string visible(std::string_view text);

}  // namespace reeve::base
