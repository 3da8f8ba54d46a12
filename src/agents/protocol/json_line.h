#pragma once

#include <optional>
#include <string_view>

#include "base/value.h"

namespace reeve::agents {

// One line of an agent that is a JSON object; nothing if it is anything else or over a limit. Half of a surrogate pair,
// which JavaScript writes when it cuts a text, becomes U+FFFD.
std::optional<base::Value> parse_json_line(std::string_view line);

}  // namespace reeve::agents
