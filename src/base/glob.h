#pragma once

#include <string_view>

namespace reeve::base {

// Whether the pattern matches the whole text: `*` matches any bytes except `/`, `**` any bytes, `?` one byte except
// `/`; everything else matches itself. Works on bytes, not characters. Runs in O(pattern × text).
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace reeve::base
