#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::testing {

// The members of one JSON object: strings as what they mean, everything else as it is written.
using Members = std::map<std::string, std::string>;

// Nothing unless the text is exactly one well-formed JSON object in UTF-8 whose keys differ.
std::optional<Members> parse_object(std::string_view text);
// The elements of one JSON array, each as it is written.
std::optional<std::vector<std::string>> parse_array(std::string_view text);

}  // namespace reeve::testing
