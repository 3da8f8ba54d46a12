#include "cli/act_on_patch.h"
#include "cli/commands.h"

namespace reeve::cli {

Command make_patch_rollback() {
  return {
      .name = "patch rollback",
      .summary = "Take a patch back out of your checkout",
      .about =
          R"(A commit on top of yours that undoes it, three-way, only while your checkout is clean. `git log` has both.

Exit codes: 0 done, 3 no such patch, 4 it cannot be done now; nothing was changed then.)",
      .examples = {{"reeve patch rollback PA-3", ""}},
      .positionals = patch_positionals(),
      .options = {{.name = "--yes", .help = "do not ask"}},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "rollback", .asks = "Roll back"}); },
  };
}

}  // namespace reeve::cli
