#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/value.h"

namespace reeve::json {

struct ParseLimits {
  std::size_t bytes = base::limits::json_bytes;
  std::size_t depth = base::limits::json_depth;
  // Values, members and elements together.
  std::size_t values = base::limits::json_values;
};

struct ParseError {
  // "expected a value", "duplicate key `a`"; without the position.
  std::string message;
  std::size_t line = 1;
  std::size_t column = 1;

  // "line 3, column 7: duplicate key `a`".
  std::string text() const;
};

// Parses exactly one JSON document (RFC 8259). Stricter than most parsers where leniency hides attacks or mistakes:
// duplicate keys, invalid UTF-8 and everything over a limit are errors. Integers that fit 64 bits stay exact.
std::expected<base::Value, ParseError> parse(std::string_view text, const ParseLimits& limits = {});

}  // namespace reeve::json
