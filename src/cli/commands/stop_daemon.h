#pragma once

#include <optional>
#include <string>

#include "client/daemon.h"

namespace reeve::cli {

// The pid in the lock of the state folder; empty if the lock is free, so that the next daemon can start. A missing
// socket would not prove that.
std::optional<std::string> find_holder(const client::DaemonPlace& place);

// Asks the daemon to exit and waits until it has; false if none was running. Runs continue. Throws `daemon.busy` if it
// does not exit in time.
bool stop_daemon(client::DaemonPlace place);

}  // namespace reeve::cli
