#pragma once

#include <vector>

#include "cli/command.h"

// What `reeve hook install` and `reeve hook uninstall` have in common.
namespace reeve::cli {

enum class HookChange { install, uninstall };

// Shows the change to the agent's settings file, asks, and makes it.
ExitCode change_hook(const Call& call, HookChange change);

std::vector<Positional> hook_change_positionals();
std::vector<Option> hook_change_options(HookChange change);

}  // namespace reeve::cli
