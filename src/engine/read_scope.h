#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// What a tool that returns the contents of files may read (TOOL-1). Reeve's own tools skip files that may hold secrets;
// those of agents do not.
namespace reeve::engine {

struct ReadScope {
  // As in the arguments.
  std::string path;
  // Where the files are: the path itself, or the folder before its first wildcard.
  std::string folder;
  bool is_pattern = false;
};

// Empty for tools that return names only, write, or run commands. A filter of a search narrows what it reads, and is
// none of them.
std::vector<ReadScope> find_read_scopes(std::string_view tool, const base::Value& arguments);

}  // namespace reeve::engine
