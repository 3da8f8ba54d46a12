#pragma once

#include <string>

#include "base/error.h"
#include "base/problem.h"
#include "view/style.h"

namespace reeve::view {

// One problem as text for people: what, where with the line and a caret, why, fix. Ends with a newline.
std::string problem_text(const base::Problem& problem, const Style& style);
// All of them with an empty line between, then the count: "2 errors, 0 warnings.".
std::string problems_text(const base::Problems& problems, const Style& style);
// "2 errors, 1 warning".
std::string count_text(const base::Problems& problems);
std::string error_text(const base::Error& error, const Style& style);

}  // namespace reeve::view
