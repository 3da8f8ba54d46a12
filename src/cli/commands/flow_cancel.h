#pragma once

#include "cli/command.h"
#include "client/executions.h"

namespace reeve::cli {

// `flow cancel`, and `cancel` with an execution id.
ExitCode cancel_execution(const Call& call, client::Daemon& daemon, base::ExecutionId id);

}  // namespace reeve::cli
