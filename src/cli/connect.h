#pragma once

#include <string>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// The daemon of the state folder that this call means. A client inside a run never starts one.
client::DaemonPlace daemon_place(const Call& call);

// The run that a word names: an id in any case, or `@last` for the newest. Throws `run.not_found`, `cli.usage`.
base::RunId find_run(client::Daemon& daemon, const std::string& word);

}  // namespace reeve::cli
