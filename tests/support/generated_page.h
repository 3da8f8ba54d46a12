#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace reeve::testing {

// Compares the parts of a page between `<!-- generated: NAME -->` and `<!-- end of generated text -->` with these, or
// replaces them when golden files are accepted. The text around them is written in the page itself. Every part must
// have its place, and every place its part.
void expect_generated(const std::filesystem::path& page, const std::map<std::string, std::string>& parts);

}  // namespace reeve::testing
