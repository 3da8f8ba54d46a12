#pragma once

#include <string>
#include <string_view>

namespace reeve::view {

// One line that a tool printed, harmless on a terminal (LOG-3): escape sequences are taken out, of what was written
// over with carriage returns the last stays, other control characters become visible. Tabs stay; without the line's
// end.
std::string safe_line(std::string_view line);

}  // namespace reeve::view
