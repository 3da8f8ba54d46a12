#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::testing {

// The members of one JSON object: strings decoded, everything else as written.
using Members = std::map<std::string, std::string>;

// Nothing unless the text is exactly one well-formed JSON object in UTF-8 with unique keys.
std::optional<Members> parse_object(std::string_view text);
// The elements of one JSON array, each as written.
std::optional<std::vector<std::string>> parse_array(std::string_view text);

}  // namespace reeve::testing
