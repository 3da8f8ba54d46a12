#pragma once

#include <string>

#include "base/value.h"

namespace reeve::json {

// On one line, members in their order.
std::string encode(const base::Value& value);
// For people: indented by two spaces per level.
std::string encode_pretty(const base::Value& value);
// The same text for all equal values: members sorted by the bytes of their keys, no white space, integral numbers
// without a fraction. For hashing.
std::string encode_canonical(const base::Value& value);

}  // namespace reeve::json
