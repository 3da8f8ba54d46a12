#pragma once

#include "cli/command.h"

namespace reeve::cli {

// `reeve` alone: what needs the person now. Where no daemon runs none is started, and the way in is shown.
ExitCode show_overview(const Call& call);

}  // namespace reeve::cli
