#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "model/run.h"

namespace reeve::cli {

// SPEC §7. Refusals of the daemon map by HTTP status (400, 413, 415, 422: usage; 404: not found; 409, 412:
// conflict; 401, 403: denied), all other errors by the table of codes (base/errors.def).
ExitCode exit_code_of(const base::Error& error);

// The exit code of `reeve run`: 0, the tool's own code, 128 + the signal, or one of SPEC's. A run that has not ended is
// taken as waiting.
ExitCode exit_code_of(const model::Run& run);

// For the manual page and docs/ERRORS.md: "128 + N", "ended by signal N".
struct ExitMeaning {
  std::string_view code;
  std::string_view meaning;
};
const std::vector<ExitMeaning>& exit_meanings();

}  // namespace reeve::cli
