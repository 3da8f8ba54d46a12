#pragma once

#include <string>
#include <string_view>

namespace reeve::view {

// A line of tool output, sanitized for a terminal (LOG-3): escape sequences are removed, of text overwritten with
// carriage returns only the last is kept, other control characters are made visible. Tabs are kept; the line end is
// not.
std::string safe_line(std::string_view line);

}  // namespace reeve::view
