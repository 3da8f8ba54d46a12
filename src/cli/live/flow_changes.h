#pragma once

#include <vector>

#include "cli/command.h"
#include "client/daemon.h"
#include "model/approval.h"

namespace reeve::cli {

// The pending questions of an ended execution, oldest first: whether its changes go into the checkout (ISO-3).
std::vector<model::Approval> find_questions(client::Daemon& daemon, base::ExecutionId id);
// Prints these questions and the next command on standard error.
void print_questions(const Call& call, const std::vector<model::Approval>& questions);

// Prints on standard error which changes are in the user's checkout and, unless one of `questions` asks about it, how
// to apply the others.
void print_changes(client::Daemon& daemon, base::ExecutionId id, const std::vector<model::Approval>& questions);

}  // namespace reeve::cli
