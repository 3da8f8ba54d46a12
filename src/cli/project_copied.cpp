#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/project_moved.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  const auto places = find_named_places(call, "project copied");
  for (const project::FoundPlace& place : places) {
    const auto aside = project::note_copied(place);
    if (!aside.empty()) {
      print_aside("the copied runs and approvals are in {}; the copy begins with an empty database\n",
                  base::visible(aside.string()));
    }
  }
  print_places(call, places, "is a copy now, with an id of its own");
  return ExitCode::done;
}

}  // namespace

Command make_project_copied() {
  return {
      .name = "project copied",
      .summary = "Tell Reeve that a project or a state folder is a copy",
      .about =
          R"(The copy gets an id of its own. What a copied state folder holds is moved into `before-…` in it, and it begins
with an empty database: nothing in a copy acts on the runs, worktrees or checkout of the original.

Exit codes: 0 noted; 3 no such folder; 4 a daemon is at work there; 5 called from inside a run; 6 nothing
there is known.)",
      .examples = {{"reeve project copied ~/work/app-2", "after cp -a"}},
      .positionals = {{.name = "PATH", .help = "the copy"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
