#pragma once

#include "cli/command.h"
#include "client/event_feed.h"
#include "client/executions.h"

namespace reeve::cli {

// SPEC §7: what following an execution ends with.
ExitCode exit_code_of(const model::Execution& execution);

// An execution as it goes on: on a terminal a tree that is drawn over again, with what it asks answered right there;
// else a line for each change of a node. `feed` was opened before the execution began, so that no change is missed.
// Until it is over, or waits. Ctrl-C leaves it running and ends the program.
model::Execution follow_execution(const Call& call, client::Daemon& daemon, client::EventFeed& feed,
                                  model::Execution execution, client::Until until);

// How it ended, and what to type next; both on standard error.
void print_ending(const Call& call, const model::Execution& execution);
void print_next_of(const Call& call, const model::Execution& execution);

// "EX-9 goes on; …": for those who stop watching.
std::string parting_of(base::ExecutionId id);

}  // namespace reeve::cli
