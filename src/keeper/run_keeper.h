#pragma once

#include <string>

#include "os/fd.h"

namespace reeve::keeper {

// Keeps one run from its assignment to its exit record: its terminal or pipes, its output, its process tree. First
// creates its endpoint (a lock and a socket) in `endpoints` and sends Hello on `daemon`. Returns the program's exit
// code: 0 also if the daemon disconnected before anything was started.
int hold_run(os::Fd daemon, const std::string& endpoints);

}  // namespace reeve::keeper
