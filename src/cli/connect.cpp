#include "cli/connect.h"

#include <fmt/format.h>

#include "base/text.h"
#include "client/runs.h"
#include "project/project.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

bool is_other_id(const std::string& word) {
  return base::ApprovalId::parse(word) || base::ExecutionId::parse(word) || base::AgentId::parse(word) ||
         base::TaskId::parse(word) || base::PatchId::parse(word);
}

// Whom the config wants told needs the desktop of the person and the keys of the webhooks.
std::vector<std::string> notify_variables(const project::StateFolder& folder) try {
  const project::FoundConfig found = project::load_config_of(folder);
  if (!found.loaded || found.loaded->config().notify.empty()) return {};
  std::vector<std::string> names(project::errand_variables.begin(), project::errand_variables.end());
  for (const model::Notification& entry : found.loaded->config().notify) {
    if (entry.secret_env) names.push_back(*entry.secret_env);
  }
  return names;
} catch (const base::Error&) {
  // What is wrong with the config is told by the daemon, which reads it too.
  return {};
}

}  // namespace

client::DaemonPlace daemon_place(const Call& call) {
  const project::StateFolder folder = project::find_state_folder(call.arguments.value("--state"), ".");
  client::DaemonPlace place{.folder = folder.root, .socket = folder.socket()};
  place.variables = [folder] { return notify_variables(folder); };
  if (project::variable("REEVE_RUN_ID")) place.no_start = "a client inside a run starts none";
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
