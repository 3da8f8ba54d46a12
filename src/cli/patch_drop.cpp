#include "cli/act_on_patch.h"
#include "cli/commands.h"

namespace reeve::cli {

Command make_patch_drop() {
  return {
      .name = "patch drop",
      .summary = "Give a patch up",
      .about =
          R"(Its diff stays in the ledger; what is in the branch of its execution is taken out of it. What is in your
checkout already is taken back by `reeve patch rollback`.

Exit codes: 0 done, 3 no such patch, 4 it cannot be done now; nothing was changed then.)",
      .examples = {{"reeve patch drop PA-3", ""}, {"reeve patch drop PA-3 --yes", "without being asked"}},
      .positionals = patch_positionals(),
      .options = {{.name = "--yes", .help = "do not ask"}},
      .run = [](const Call& call) { return act_on_patches(call, {.action = "drop", .asks = "Drop"}); },
  };
}

}  // namespace reeve::cli
