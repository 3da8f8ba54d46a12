#pragma once

#include <vector>

#include "cli/command.h"
#include "client/daemon.h"
#include "model/approval.h"

namespace reeve::cli {

// What an execution that is over still asks, the oldest first: whether what it changed goes into the checkout (ISO-3).
std::vector<model::Approval> find_questions(client::Daemon& daemon, base::ExecutionId id);
// These, with what to type next. On standard error.
void print_questions(const Call& call, const std::vector<model::Approval>& questions);

// What of it is in the person's checkout, and how to take over what is not, unless one of these asks. On standard
// error.
void print_changes(client::Daemon& daemon, base::ExecutionId id, const std::vector<model::Approval>& questions);

}  // namespace reeve::cli
