#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/project_moved.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const auto places = find_named_places(call, "project copied");
  for (const project::FoundPlace& place : places) {
    const auto aside = project::note_copied(place);
    if (!aside.empty()) {
      print_aside("the copied runs and approvals are in {}; the copy starts with an empty database\n",
                  base::visible(aside.string()));
    }
  }
  print_places(call, places, "registered as a copy with its own id");
  return ExitCode::done;
}

}  // namespace

Command make_project_copied() {
  return {
      .name = "project copied",
      .summary = "Tell Reeve that a project or a state folder is a copy",
      .about =
          R"(The copy gets its own id. The contents of a copied state folder are moved into `before-…` inside it, and it
starts with an empty database: nothing in a copy acts on the runs, worktrees or checkout of the original.

Exit codes: 0 recorded; 3 no such folder; 4 a daemon is running there; 5 called from inside a run; 6 nothing
there is known to Reeve.)",
      .examples = {{"reeve project copied ~/work/app-2", "after cp -a"}},
      .positionals = {{.name = "PATH", .help = "the copy"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
