#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace reeve::server {

// A decoded request target: valid UTF-8, the path without control characters, the query without NUL.
struct Target {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
  // The path contains an escaped slash, which implementations interpret differently.
  bool has_escaped_slash = false;
};
// Parses "/api/runs?limit=1". A '+' is not decoded. Otherwise returns a description of the error.
std::expected<Target, std::string> parse_target(std::string_view text);

}  // namespace reeve::server
