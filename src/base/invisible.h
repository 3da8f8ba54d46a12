#pragma once

namespace reeve::base {

// Whether the character is invisible: zero-width characters, soft hyphens, fillers, tags and other format characters.
// Excludes the variation selectors U+FE00 to U+FE0F, which belong to the preceding character. visible() escapes all of
// these, and also a selector that selects nothing: after a letter, a blank or another selector.
bool is_invisible(char32_t character) noexcept;

}  // namespace reeve::base
