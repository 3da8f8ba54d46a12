#include "cli/act_on_patch.h"
#include "cli/commands.h"

namespace reeve::cli {

Command make_patch_apply() {
  return {
      .name = "patch apply",
      .summary = "Bring a patch into your checkout",
      .about =
          R"(One commit on top of yours, three-way, only while your checkout is clean. Also a patch that was left alone
(`quarantined`, `conflicted`, `apply_failed`). All of an execution at once: `git merge reeve/EX-9`.

The gates that passed in its execution are asked about what your checkout would become, unless they have
seen exactly that. If one does not pass, nothing is changed, and the patch stays `queued`; with the others
of its branch that are queued, it is tried again by the same command.

Exit codes: 0 done, 3 no such patch, 4 it cannot be done now; nothing was changed then.)",
      .examples = {{"reeve patch apply PA-3", ""}, {"reeve patch apply PA-3 PA-4", "in this order"}},
      .positionals = patch_positionals(),
      .options = {},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "apply"}); },
  };
}

}  // namespace reeve::cli
