#pragma once

#include <vector>

#include "cli/command.h"
#include "client/daemon.h"
#include "model/approval.h"

namespace reeve::cli {

// Says on standard error why the daemon's configured port is closed, if it is.
void print_port_problem(client::Daemon& daemon);
// APR-11: says on standard error that a tool without a sandbox could approve its own request.
void print_advice(const Call& call, const std::vector<model::Approval>& approvals);

}  // namespace reeve::cli
