#include "cli/connect.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "client/runs.h"
#include "os/lineage.h"
#include "project/project.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

bool is_other_id(const std::string& word) {
  return base::ApprovalId::parse(word) || base::ExecutionId::parse(word) || base::AgentId::parse(word) ||
         base::TaskId::parse(word) || base::PatchId::parse(word);
}

// By the variable, and by descent for whoever has dropped it.
bool is_inside_run() {
  if (project::variable("REEVE_RUN_ID")) return true;
  const auto self = os::identify(::getpid());
  const auto lineage = self ? os::find_lineage(*self) : std::vector<os::ProcessId>();
  return std::ranges::any_of(lineage,
                             [](const os::ProcessId& id) { return os::runs_program(id.pid, "reeve-keeper", "hold"); });
}

}  // namespace

client::DaemonPlace daemon_place(const Call& call) {
  const project::StateFolder folder = project::find_state_folder(call.arguments.value("--state"), ".");
  client::DaemonPlace place{.folder = folder.root, .socket = folder.socket()};
  if (is_inside_run()) place.no_start = "a client inside a run starts none";
  return place;
}

base::RunId find_run(client::Daemon& daemon, const std::string& word) {
  if (word == "@last") {
    const auto newest = client::list_runs(daemon, {}, 1);
    if (newest.empty()) throw base::Error("run.not_found", "there is no run yet", "start one: reeve run -- COMMAND");
    return newest.front().run.tool_run_id;
  }
  if (const auto id = base::RunId::parse(word)) return *id;
  if (is_other_id(word)) {
    throw base::Error("run.not_found", fmt::format("{} is no run, and only runs can be shown yet", base::quoted(word)),
                      "list them: reeve runs");
  }
  throw base::Error("cli.usage", fmt::format("{} is no id of a run", base::quoted(word)),
                    "ids look like TR-17; @last is the newest; `reeve runs` lists them");
}

}  // namespace reeve::cli
