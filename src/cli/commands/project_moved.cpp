#include "cli/commands/project_moved.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/stop_daemon.h"
#include "cli/connect.h"
#include "client/projects.h"
#include "project/project.h"
#include "project/state_folder.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;
using project::FoundPlace;
using project::KnownPlace;

// The records of a project are in the store of its daemon: the common one, unless the project has its own state. A
// folder in which no daemon has run has no records.
void rewrite_records(const Call& call, const FoundPlace& moved) {
  const bool is_named = call.arguments.has("--state") || project::variable("REEVE_STATE");
  const bool has_own = !is_named && project::has_own_state(moved.path);
  client::DaemonPlace place = has_own ? place_in({.root = moved.path / ".reeve" / "state"}) : daemon_place(call);
  std::error_code ignored;
  if (!fs::exists(project::StateFolder{place.folder}.lock(), ignored)) return;
  client::Daemon daemon(std::move(place));
  client::move_project(daemon, moved.known->path.string(), moved.path.string());
}

ExitCode run(const Call& call) {
  const std::vector<FoundPlace> places = find_named_places(call, "project moved");
  for (const FoundPlace& place : places) {
    if (!place.has_original) continue;
    throw base::Error(ErrorCode::project_not_moved,
                      fmt::format("{} still exists: {} is a copy of it", base::quoted(place.known->path.string()),
                                  base::quoted(place.path.string())),
                      fmt::format("reeve project copied {}", call.arguments.positional(0)));
  }
  for (const FoundPlace& place : places) {
    if (place.kind == KnownPlace::Kind::state) project::note_moved(place);
  }
  for (const FoundPlace& place : places) {
    if (place.kind == KnownPlace::Kind::state) continue;
    // Records first: if that fails, the registry still says that the project was moved, and this can be repeated.
    rewrite_records(call, place);
    project::note_moved(place);
  }
  print_places(call, places, "moved");
  return ExitCode::done;
}

}  // namespace

std::vector<FoundPlace> find_named_places(const Call& call, std::string_view command) {
  refuse_host(call, command);
  if (is_inside_run()) {
    throw base::Error(ErrorCode::project_denied, "a process inside a run cannot register a moved or copied project",
                      "run it in your own shell");
  }
  const fs::path folder = call.arguments.positional(0);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw base::Error(ErrorCode::file_not_found,
                      fmt::format("folder {} does not exist", base::quoted(folder.string())));
  }
  std::vector<FoundPlace> places = project::find_places(folder);
  for (const FoundPlace& place : places) {
    if (place.kind != KnownPlace::Kind::state) continue;
    const auto holder = find_holder({.folder = place.path, .socket = project::StateFolder{place.path}.socket()});
    if (!holder) continue;
    throw base::Error(ErrorCode::daemon_already_running,
                      fmt::format("a daemon (pid {}) is running in {}", *holder, base::quoted(place.path.string())),
                      fmt::format("reeve stop --state {}", place.path.string()));
  }
  const bool is_known = std::ranges::any_of(places, [](const FoundPlace& place) { return place.known.has_value(); });
  if (!is_known) {
    throw base::Error(ErrorCode::state_unknown,
                      fmt::format("nothing in {} is known to Reeve", base::quoted(folder.string())),
                      "to accept a state folder: reeve state adopt DIR");
  }
  std::erase_if(places, [](const FoundPlace& place) { return !place.known || place.is_here; });
  return places;
}

void print_places(const Call& call, const std::vector<FoundPlace>& places, std::string_view what) {
  base::Value list = base::Value::array();
  for (const FoundPlace& place : places) {
    base::Value record = base::Value::object();
    const std::string_view kind = place.kind == KnownPlace::Kind::project ? "project" : "state folder";
    record.set("kind", base::Value::string(kind));
    record.set("path", base::Value::string(place.path.string()));
    record.set("before", base::Value::string(place.known->path.string()));
    list.as_array()->push_back(std::move(record));
    if (!call.is_json) fmt::print("{} {}: {}\n", kind, what, base::visible(place.path.string()));
  }
  if (call.is_json) {
    print_json(call, list);
  } else if (places.empty()) {
    fmt::print("nothing to do: the path has not changed\n");
  }
}

Command make_project_moved() {
  return {
      .name = "project moved",
      .summary = "Tell Reeve that a project or a state folder was moved",
      .about =
          R"(Reeve identifies projects and state folders by a random id and remembers the path of each. One that appears
at another path, or was restored from a backup, is not used until you say whether it was moved (this command)
or copied (`reeve project copied`). PATH is the project folder at its new path, or a state folder.

Exit codes: 0 recorded; 1 the original still exists; 3 no such folder; 4 a daemon is running there; 5 called
from inside a run; 6 nothing there is known to Reeve.)",
      .examples = {{"reeve project moved ~/work/app", "after mv"}},
      .positionals = {{.name = "PATH", .help = "the folder at its new path"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
