#include "client/state_move.h"

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"
#include "cli/live/ask_person.h"
#include "cli/state_survey.h"
#include "project/project.h"
#include "project/state_folder.h"
#include "project/state_retire.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

// The named folder, or the one of the project around the current folder. A project may be named instead.
fs::path find_folder(const Call& call) {
  std::error_code ignored;
  if (call.arguments.positionals().empty()) {
    const auto project = project::find_project(".");
    if (project && fs::exists(*project / ".reeve/state", ignored)) return *project / ".reeve/state";
    throw base::Error(ErrorCode::cli_usage, "there is no project with its own state here",
                      "name the state folder: reeve state move PROJECT/.reeve/state");
  }
  const fs::path named = fs::absolute(call.arguments.positional(0)).lexically_normal();
  const fs::path folder = named.filename().empty() ? named.parent_path() : named;
  return fs::exists(folder / ".reeve/state", ignored) ? folder / ".reeve/state" : folder;
}

project::StateFolder find_target() {
  if (auto common = project::find_common_state()) return std::move(*common);
  throw base::Error(ErrorCode::cli_no_state_folder, "there is no home folder with a common state folder",
                    "set HOME or XDG_STATE_HOME");
}

// Open work has processes, worktrees or people behind it, which know it by its present ids.
void refuse_open_work(const Call& call, const fs::path& folder, const StateSurvey& survey) {
  if (survey.entries.empty()) return;
  view::Table table({"id", "status", "what"});
  for (const StateSurvey::Entry& entry : survey.entries) {
    table.add({base::visible(entry.id), base::visible(entry.status), base::visible(entry.what)});
  }
  print_aside("{}", table.for_terminal(call.err));
  throw base::Error(
      ErrorCode::execution_not_completed,
      fmt::format("work in {} is not finished: {} runs, {} executions and {} approvals", base::quoted(folder.string()),
                  survey.runs, survey.executions, survey.approvals),
      fmt::format(
          "decide it (`reeve --state {0} approvals`), wait for it, or cancel it (`reeve cancel ID --state {0}`)",
          folder.string()));
}

bool may_move(const Call& call, const fs::path& folder, const project::StateFolder& target) {
  print_aside("The records of {} get new ids in {}. Its tokens are not moved, and its log stays in the old folder.\n",
              base::visible(folder.string()), base::visible(target.root.string()));
  if (call.arguments.has("--yes")) return true;
  if (!can_ask()) {
    throw base::Error(ErrorCode::cli_usage, "cannot ask for confirmation here; nothing was moved",
                      "run this again with --yes");
  }
  print_aside("Move them? [y/N] ");
  std::string line;
  std::getline(std::cin, line);
  const std::string_view word = base::trim(line);
  return word == "y" || word == "Y" || word == "yes";
}

void print_moved(const Call& call, const wire::StateMoveRecord& record) {
  view::Table table({"old id", "new id"});
  for (const wire::MovedId& id : record.ids) table.add({base::visible(id.old_id), base::visible(id.new_id)});
  if (!table.is_empty()) fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
  print_aside("moved {} records; the old folder is now {}\n", record.ids.size(), base::visible(record.set_aside));
  print_next(call, "reeve");
}

ExitCode run(const Call& call) {
  refuse_host(call, "state move");
  if (is_inside_run()) {
    throw base::Error(ErrorCode::project_denied, "a process inside a run cannot move a state folder",
                      "run it in your own shell");
  }
  const fs::path folder = find_folder(call);
  const project::StateFolder target = find_target();
  project::check_movable_state(folder);
  std::error_code ignored;
  if (fs::exists(folder / "reeve.db", ignored)) refuse_open_work(call, folder, survey_state(folder / "reeve.db"));
  if (!may_move(call, folder, target)) throw base::Error(ErrorCode::cli_given_up, "cancelled; nothing was moved");
  stop_daemon({.folder = folder, .socket = project::StateFolder{folder}.socket()});
  client::DaemonPlace place = place_in(target);
  place.keeps_waiting = true;
  client::Daemon daemon(std::move(place));
  const client::StateMoveAnswer answer = client::move_state(daemon, folder);
  if (call.is_json) {
    print_json(call, answer.wire);
  } else {
    print_moved(call, answer.record);
  }
  return ExitCode::done;
}

}  // namespace

Command make_state_move() {
  return {
      .name = "state move",
      .summary = "Bring the records of a project's own state into the common store",
      .about =
          R"(Copies runs, their output, executions, approvals, patches, tasks and audit entries of a project that keeps
its own state (`.reeve/state`) into your common store, so that one daemon and one inbox serve it too. The records get
new ids, which are printed; each run and execution keeps its old one as `imported_from`. Audit entries
become entries of kind `imported`. The project then has no state of its own: the old folder, with its log, is renamed
to `.reeve/state-moved-…`. Tokens are not moved. Executions that were moved cannot be retried, and unused
approvals have no effect; git branches keep the names of the old ids.

Refused while runs or executions are unfinished, or approvals pending, and while the project's config says
`state: project`. If it is interrupted, repeat it: what was copied already is not copied again.

When piped, each line has two tab-separated fields: old id, new id.

Exit codes: 0 moved; 2 no terminal to ask at and no --yes; 4 unfinished work, another version's database,
or not a project's own state; 5 called from inside a run; 6 not a folder that you accepted; 130 declined.)",
      .examples = {{"reeve state move", "of the project around the current folder"},
                   {"reeve state move ~/src/shop --yes", "in a script"}},
      .positionals = {{.name = "DIR", .help = "the project or its state folder", .is_required = false}},
      .options = {{.name = "--yes", .help = "move without asking"}},
      .run = run,
  };
}

}  // namespace reeve::cli
