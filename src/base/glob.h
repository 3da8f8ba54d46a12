#pragma once

#include <string_view>

namespace reeve::base {

// Whether the pattern matches the whole text: `*` any signs but `/`, `**` any signs, `?` one sign but `/`; everything
// else itself. Bytes, not characters. Takes time in proportion to pattern × text, never more.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace reeve::base
