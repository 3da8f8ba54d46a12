#pragma once

#include <string_view>
#include <vector>

namespace reeve::cli {

struct InitFile {
  // Beneath `.reeve/`.
  std::string_view name;
  std::string_view what;
  std::string_view text;
};

// What `reeve init` writes.
const std::vector<InitFile>& init_files();

}  // namespace reeve::cli
