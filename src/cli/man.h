#pragma once

#include <string>
#include <vector>

namespace reeve::cli {

// A manual page in the macros of man(7).
struct ManPage {
  // "man1/reeve-flow-run.1"
  std::string file;
  std::string text;
};

// One page for `reeve`, for each command, for the config file and for workflow files.
std::vector<ManPage> make_man_pages();

}  // namespace reeve::cli
