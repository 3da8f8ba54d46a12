#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"
#include "project/state_folder.h"

namespace reeve::cli {

// The daemon of the state folder selected by this call, or the one named by `--host` or REEVE_HOST. A client inside a
// run never starts one. Throws `cli.usage`, `cli.token_file`, and `state.*` for a folder that is a link or not the
// user's own.
client::DaemonPlace daemon_place(const Call& call);
// The enclosing project, for a daemon on this machine; empty for a remote one, or if there is no project.
std::optional<std::string> project_here(const client::DaemonPlace& place);
// The same; outside a project, the current folder.
std::optional<std::string> folder_here(const client::DaemonPlace& place);
// The same for commands that wait indefinitely: they report what they are waiting for and do not give up.
client::DaemonPlace patient_place(const Call& call);
// The same without checking the folder, for commands that report on it.
client::DaemonPlace find_daemon_place(const Call& call);
// The daemon of this state folder on this machine, started if a command needs it. Does not check the folder.
client::DaemonPlace place_in(const project::StateFolder& folder);
// Checks REEVE_RUN_ID, then ancestry for processes that dropped the variable, then the mark for those without a keeper.
bool is_inside_run();
// For commands that work only on this machine: throws `cli.usage` if another daemon is named.
void refuse_host(const Call& call, std::string_view command);
// Whether the daemon may be on another machine, so that local folders and variables do not apply.
bool is_elsewhere(const client::DaemonPlace& place);

// Resolves a run: an id in any case, or `@last` for the newest. Throws `run.not_found`, `cli.usage`.
base::RunId find_run(client::Daemon& daemon, const std::string& word);
// The same for an approval. A run's id is refused, with a hint at its pending question. Throws `approval.not_found`,
// `cli.usage`.
base::ApprovalId find_approval(client::Daemon& daemon, const std::string& word);

// The same for an execution. Throws `execution.not_found`, `cli.usage`.
base::ExecutionId find_execution(client::Daemon& daemon, const std::string& word);
// The same for a patch. Throws `patch.not_found`, `cli.usage`.
base::PatchId find_patch(client::Daemon& daemon, const std::string& word);

// The same for a pipeline. Throws `pipeline.not_found`, `cli.usage`.
base::ExecutionId find_pipeline(client::Daemon& daemon, const std::string& word);

// The value of `--limit`, from 1 to 10,000. Throws `cli.usage`.
std::size_t limit_of(const Call& call, std::size_t fallback);

}  // namespace reeve::cli
