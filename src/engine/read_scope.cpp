#include "engine/read_scope.h"

#include <algorithm>

#include "engine/call_path.h"

namespace reeve::engine {

namespace {

// The folders of the path before the first part with a wildcard; `/` or `.` if there are none.
std::string find_fixed_part(std::string_view path) {
  std::size_t end = 0;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t slash = std::min(path.find('/', begin), path.size());
    if (has_wildcard(path.substr(begin, slash - begin))) break;
    end = slash;
    begin = slash + 1;
  }
  if (end > 0) return std::string(path.substr(0, end));
  return path.starts_with('/') ? "/" : ".";
}

}  // namespace

std::vector<ReadScope> find_read_scopes(std::string_view tool, const base::Value& arguments) {
  const bool is_search = tool == "search_files";
  const base::Value::Object* members = arguments.as_object();
  if ((!is_search && tool != "file_read") || members == nullptr) return {};
  std::vector<ReadScope> scopes;
  const auto add = [&](const base::Value& value) {
    const std::string* path = value.as_string();
    if (path == nullptr || path->empty()) return;
    const bool is_pattern = has_wildcard(*path);
    scopes.push_back({*path, is_pattern ? find_fixed_part(*path) : *path, is_pattern});
  };
  for (const base::Member& member : *members) {
    const bool is_filter = is_search && (member.key == "glob" || member.key == "include");
    if (is_filter || !names_path(member.key)) continue;
    add(member.value);
    for (const base::Value& each :
         member.value.as_array() != nullptr ? *member.value.as_array() : base::Value::Array{}) {
      add(each);
    }
  }
  return scopes;
}

}  // namespace reeve::engine
