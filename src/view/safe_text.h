#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reeve::view {

// A line of tool output, sanitized for a terminal (LOG-3): escape sequences are removed, of text overwritten with
// carriage returns only the last is kept, other control characters are made visible. Tabs are kept; the line end is
// not.
std::string safe_line(std::string_view line);
// The lines of a text, each sanitized, without empty ones at the end. Each text that overwrote a line with \r becomes a
// separate line, so that nothing is hidden.
std::vector<std::string> safe_lines(std::string_view text);
// The lines of a text that will be executed or written as it is: nothing is removed, control characters are made
// visible. Without empty lines at the end.
std::vector<std::string> exact_lines(std::string_view text);

}  // namespace reeve::view
