#include "cli/commands.h"
#include "cli/commands/act_on_patch.h"

namespace reeve::cli {

Command make_patch_apply() {
  return {
      .name = "patch apply",
      .summary = "Apply a patch to your checkout",
      .about =
          R"(Adds one commit on top of yours by a three-way merge, only while your checkout is clean. Patches that were
set aside (`quarantined`, `conflicted`, `apply_failed`) can be applied too. To apply all changes of an
execution at once: `git merge reeve/EX-9`.

The gates that passed in the execution are run on what your checkout would become, unless they have already
checked exactly that. If one fails, nothing is changed and the patch stays `queued`; the same command tries
it again, along with the other queued patches of its branch.

Exit codes: 0 done, 3 no such patch, 4 not possible now, nothing was changed.)",
      .examples = {{"reeve patch apply PA-3", ""}, {"reeve patch apply PA-3 PA-4", "in this order"}},
      .positionals = patch_positionals(),
      .options = {},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "apply"}); },
  };
}

}  // namespace reeve::cli
