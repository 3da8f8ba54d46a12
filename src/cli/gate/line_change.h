#pragma once

#include <string>
#include <string_view>

#include "view/style.h"

namespace reeve::cli {

// What a change of a text does to its lines, as a diff of its changed part with three lines around it. Safe to show on
// a terminal.
std::string describe_line_change(std::string_view before, std::string_view after, const view::Style& style);

}  // namespace reeve::cli
