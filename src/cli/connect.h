#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// The daemon of the state folder that this call means, or the one that `--host` or REEVE_HOST names. A client inside a
// run never starts one. Throws `cli.usage`, `cli.token_file`, and `state.*` for a folder that is a link or not the
// user's own.
client::DaemonPlace daemon_place(const Call& call);
// The project around here, for a daemon that may look at it; nothing for one elsewhere, or where there is none.
std::optional<std::string> project_here(const client::DaemonPlace& place);
// The same for commands that wait for as long as it takes: they say what they wait for, and do not give up.
client::DaemonPlace patient_place(const Call& call);
// The same without a look at the folder, for those who report on it.
client::DaemonPlace find_daemon_place(const Call& call);
// By REEVE_RUN_ID, by descent for those who dropped it, and by the mark for those who lost their keeper.
bool is_inside_run();
// For what is about this machine alone: throws `cli.usage` when another daemon is meant.
void refuse_host(const Call& call, std::string_view command);
// Whether the daemon may be on another machine: then no folder or variable of this one is meant.
bool is_elsewhere(const client::DaemonPlace& place);

// The run that a word names: an id in any case, or `@last` for the newest. Throws `run.not_found`, `cli.usage`.
base::RunId find_run(client::Daemon& daemon, const std::string& word);
// The same of an approval. A run's id is no answer, but its question is named. Throws `approval.not_found`,
// `cli.usage`.
base::ApprovalId find_approval(client::Daemon& daemon, const std::string& word);

// The same of an execution. Throws `execution.not_found`, `cli.usage`.
base::ExecutionId find_execution(client::Daemon& daemon, const std::string& word);
// The same of a patch. Throws `patch.not_found`, `cli.usage`.
base::PatchId find_patch(client::Daemon& daemon, const std::string& word);

// The same of a pipeline. Throws `pipeline.not_found`, `cli.usage`.
base::ExecutionId find_pipeline(client::Daemon& daemon, const std::string& word);

// What `--limit` says, from 1 to 10,000. Throws `cli.usage`.
std::size_t limit_of(const Call& call, std::string_view nouns, std::size_t fallback);

}  // namespace reeve::cli
