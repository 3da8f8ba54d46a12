#pragma once

#include <string_view>
#include <vector>

#include "cli/command.h"

namespace reeve::cli {

// What `reeve patch apply|drop|rollback` share: each id in turn, what fails keeps none of the others. With `asks` a
// person at the terminal is asked first, once, unless `--yes` was given.
struct PatchDeed {
  // Of the API.
  std::string_view action;
  // "Drop" in "Drop PA-3?"; empty: it is not asked.
  std::string_view asks = {};
};
ExitCode act_on_patches(const Call& call, const PatchDeed& deed);

std::vector<Positional> patch_positionals();

}  // namespace reeve::cli
