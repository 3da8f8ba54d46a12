#pragma once

#include <string>

#include "base/value.h"

namespace reeve::json {

// One line, members in their order.
std::string encode(const base::Value& value);
// For people: two spaces a level.
std::string encode_pretty(const base::Value& value);
// The one text of all that mean the same: members sorted by the bytes of their keys, no white space, numbers that are
// whole without a fraction. Made to be hashed.
std::string encode_canonical(const base::Value& value);

}  // namespace reeve::json
