#pragma once

#include "base/error.h"
#include "cli/command.h"
#include "model/run.h"

namespace reeve::cli {

// SPEC §7. What the daemon refuses goes by its HTTP status (400, 413, 415, 422: usage; 404: not found; 409, 412:
// conflict; 401, 403: denied), everything else by its code: `*.not_found`, `*.conflict`, `*.illegal_move`,
// `*.not_running`, `*.already_*`, `*.secret_needed`, `*.given_up`, `*.denied`, `cli.usage`, `daemon.unavailable`.
ExitCode exit_code_of(const base::Error& error);

// What `reeve run` ends with: 0, the tool's own code, 128 + the signal, or one of SPEC's. A run that is not over is one
// that waits.
ExitCode exit_code_of(const model::Run& run);

}  // namespace reeve::cli
