#pragma once

#include <optional>
#include <string>

#include "client/daemon.h"

namespace reeve::cli {

// Who has the state folder, by what its lock says (a pid); nothing when nobody has: then the next one can begin, which
// a socket that is away does not tell.
std::optional<std::string> find_holder(const client::DaemonPlace& place);

// Asks the daemon of this place to leave and waits until it is gone; false when none was there. What runs goes on.
// Throws `daemon.busy` when it does not leave in time.
bool stop_daemon(client::DaemonPlace place);

}  // namespace reeve::cli
