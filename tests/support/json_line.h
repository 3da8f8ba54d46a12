#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::testing {

// The members of one JSON object: strings as what they mean, everything else as it is written.
using Members = std::map<std::string, std::string>;

// Nothing unless the text is exactly one well-formed JSON object in UTF-8 whose keys differ.
std::optional<Members> parse_object(std::string_view text);

}  // namespace reeve::testing
