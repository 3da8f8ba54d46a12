#pragma once

#include <string_view>
#include <vector>

#include "cli/command.h"

namespace reeve::cli {

// Shared by `reeve patch apply|drop|rollback`: acts on each id in turn; a failure does not stop the others. With
// `asks`, asks for confirmation once at a terminal, unless `--yes` was given.
struct PatchCommand {
  // The API's name of the action.
  std::string_view action;
  // "Drop" in "Drop PA-3?"; empty: no confirmation.
  std::string_view asks = {};
};
ExitCode act_on_patches(const Call& call, const PatchCommand& action);

std::vector<Positional> patch_positionals();

}  // namespace reeve::cli
