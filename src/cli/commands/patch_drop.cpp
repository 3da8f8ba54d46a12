#include "cli/commands.h"
#include "cli/commands/act_on_patch.h"

namespace reeve::cli {

Command make_patch_drop() {
  return {
      .name = "patch drop",
      .summary = "Discard a patch",
      .about =
          R"(The diff stays in the ledger; its changes are removed from the branch of the execution. To undo changes
that are already in your checkout, use `reeve patch rollback`.

Exit codes: 0 done, 3 no such patch, 4 not possible now, nothing was changed.)",
      .examples = {{"reeve patch drop PA-3", ""}, {"reeve patch drop PA-3 --yes", "without confirmation"}},
      .positionals = patch_positionals(),
      .options = {{.name = "--yes", .help = "do not ask for confirmation"}},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "drop", .asks = "Drop"}); },
  };
}

}  // namespace reeve::cli
