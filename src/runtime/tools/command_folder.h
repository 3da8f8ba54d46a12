#pragma once

#include <string>

#include "os/beneath.h"

namespace reeve::runtime {

// The folder of a hosted command: beneath the worktree, reached without symlinks and mount points (TOOL-4). Reads the
// disk. Throws `call.not_allowed`.
os::KnownFolder find_command_folder(const std::string& worktree, const std::string& folder);

}  // namespace reeve::runtime
