#pragma once

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// Everything about one patch (`reeve show`, `reeve patch show`).
ExitCode show_patch(const Call& call, client::Daemon& daemon, base::PatchId id);

}  // namespace reeve::cli
