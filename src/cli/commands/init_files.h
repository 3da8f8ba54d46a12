#pragma once

#include <string_view>
#include <vector>

namespace reeve::cli {

struct InitFile {
  // Relative to `.reeve/`.
  std::string_view name;
  std::string_view what;
  std::string_view text;
};

// The files that `reeve init` writes.
const std::vector<InitFile>& init_files();

}  // namespace reeve::cli
