#pragma once

#include "cli/command.h"
#include "client/executions.h"

namespace reeve::cli {

// `flow show`, and `show` with an execution id.
ExitCode show_execution(const Call& call, client::Daemon& daemon, base::ExecutionId id);

}  // namespace reeve::cli
