#pragma once

#include <string>
#include <string_view>

#include "view/style.h"

namespace reeve::cli {

// A line diff of two small files.
struct FileChange {
  int added = 0;
  int removed = 0;
  // All lines: "  kept", "- removed", "+ added", in colour.
  std::string text;
};
FileChange compare_files(std::string_view before, std::string_view after, const view::Style& style);

}  // namespace reeve::cli
