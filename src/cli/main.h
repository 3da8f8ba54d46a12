#pragma once

#include <string>
#include <vector>

namespace reeve::cli {

// Runs the program; `words` excludes its own name. Returns the exit code of SPEC §7 and never throws.
int main(const std::vector<std::string>& words) noexcept;

}  // namespace reeve::cli
