#pragma once

#include "cli/command.h"
#include "client/event_feed.h"
#include "client/executions.h"

namespace reeve::cli {

// SPEC §7: the exit code after following an execution.
ExitCode exit_code_of(const model::Execution& execution);

// Follows an execution: on a terminal as a tree that is redrawn, where its questions can be answered; otherwise with a
// line for each change. `feed` was opened before the execution began, so that no change is missed. Returns when it has
// ended, or waits. Ctrl-C leaves it running and ends the program.
model::Execution follow_execution(const Call& call, client::Daemon& daemon, client::EventFeed& feed,
                                  model::Execution execution, client::Until until);

// Its outcome and the next command, on standard error.
void print_ending(const Call& call, const model::Execution& execution);
void print_next_of(const Call& call, client::Daemon& daemon, const model::Execution& execution);

// "EX-9 continues; …": printed when the user stops watching.
std::string exit_message_of(base::ExecutionId id);

}  // namespace reeve::cli
