#pragma once

#include <string>

#include "os/fd.h"

namespace reeve::keeper {

// Holds one run from its assignment to its exit record: its terminal or pipes, its output, its tree of processes. Takes
// a seat (a lock and a socket) in `seats` first and says hello on `daemon`. Returns the exit code of the program: 0
// also when the daemon left before anything was started.
int hold_run(os::Fd daemon, const std::string& seats);

}  // namespace reeve::keeper
