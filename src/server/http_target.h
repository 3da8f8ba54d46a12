#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace reeve::server {

// What a request asks for, decoded: well-formed UTF-8, the path without control characters, the query without NUL.
struct Target {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;
  // Whether that parts the path or not, others read differently.
  bool has_escaped_slash = false;
};
// "/api/runs?limit=1". A '+' stays one. Otherwise what is wrong, for people.
std::expected<Target, std::string> parse_target(std::string_view text);

}  // namespace reeve::server
