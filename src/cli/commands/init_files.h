#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reeve::cli {

struct InitFile {
  // Relative to `.reeve/`.
  std::string_view name;
  std::string_view what;
  std::string text;
  // It names tools and roles of the config that this command writes.
  bool needs_config = false;
};

// The files that `reeve init` writes.
const std::vector<InitFile>& init_files();

}  // namespace reeve::cli
