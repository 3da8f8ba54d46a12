#include "cli/commands.h"
#include "cli/commands/change_hook.h"

namespace reeve::cli {

Command make_hook_install() {
  return {
      .name = "hook install",
      .summary = "Enter `reeve hook` in the settings of an agent",
      .about =
          R"(Adds entries to the agent's settings, so that the agent asks Reeve before every tool call of a run and reports
what became of it. Shows the change first and asks. Everything else in the file stays as it is; a file that cannot be
parsed, or that is reached through a symlink, is refused.

Files: Claude Code `.claude/settings.json` (or CLAUDE_CONFIG_DIR), Codex `.codex/hooks.json` (or CODEX_HOME), Gemini
CLI `.gemini/settings.json`, Qwen Code `.qwen/settings.json`; in your home, or with `--project` in the current
folder. Codex runs the entry only after you have trusted it with /hooks.)",
      .examples = {{"reeve hook install claude", "show the change, then ask"},
                   {"reeve hook install gemini --project --yes", "for the current folder, unasked"}},
      .positionals = hook_change_positionals(),
      .options = hook_change_options(HookChange::install),
      .run = [](const Call& call) { return change_hook(call, HookChange::install); },
  };
}

}  // namespace reeve::cli
