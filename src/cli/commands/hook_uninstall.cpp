#include "cli/commands.h"
#include "cli/commands/change_hook.h"

namespace reeve::cli {

Command make_hook_uninstall() {
  return {
      .name = "hook uninstall",
      .summary = "Remove `reeve hook` from the settings of an agent",
      .about =
          R"(Removes only Reeve's own entries, whatever the path of the program in them. Shows the change first and asks.)",
      .examples = {{"reeve hook uninstall claude", "show the change, then ask"}},
      .positionals = hook_change_positionals(),
      .options = hook_change_options(HookChange::uninstall),
      .run = [](const Call& call) { return change_hook(call, HookChange::uninstall); },
  };
}

}  // namespace reeve::cli
