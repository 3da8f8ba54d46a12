#include "cli/commands.h"
#include "cli/commands/act_on_patch.h"

namespace reeve::cli {

Command make_patch_rollback() {
  return {
      .name = "patch rollback",
      .summary = "Revert a patch in your checkout",
      .about =
          R"(Adds a commit on top of yours that undoes the patch by a three-way merge, only while your checkout is
clean. `git log` shows both commits.

Exit codes: 0 done, 3 no such patch, 4 not possible now, nothing was changed.)",
      .examples = {{"reeve patch rollback PA-3", ""}},
      .positionals = patch_positionals(),
      .options = {{.name = "--yes", .help = "do not ask for confirmation"}},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "rollback", .asks = "Roll back"}); },
  };
}

}  // namespace reeve::cli
