#pragma once

namespace reeve::base {

// What is there and cannot be seen: zero-width characters, soft hyphens, fillers, tags and other format characters. Not
// the variation selectors U+FE00 to U+FE0F, which belong to the sign before them. visible() shows all of these, and a
// selector that selects nothing: behind a letter, a blank or another one.
bool is_invisible(char32_t character) noexcept;

}  // namespace reeve::base
