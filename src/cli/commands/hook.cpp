#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/hook_line.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  HookLine line{.dialect = base::find_enum<agents::HookDialect>(call.arguments.positional(0)).value(),
                .is_required = call.arguments.has("--require")};
  if (const auto word = call.arguments.value("--give-up")) {
    line.give_up_seconds = parse_give_up(*word);
    if (!line.give_up_seconds) {
      throw base::Error(base::ErrorCode::cli_usage,
                        fmt::format("{} is not a valid value for `--give-up`", base::quoted(*word)),
                        fmt::format("a number of seconds from 1 to {}", max_give_up_seconds));
    }
  }
  return static_cast<ExitCode>(run_hook(line));
}

}  // namespace

Command make_hook() {
  return {
      .name = "hook",
      .summary = "Answer the hook of an agent: may this tool call run?",
      .about =
          R"(Agents start this before each tool call; `reeve hook install` enters it in their settings. It reads the
agent's hook input, asks the daemon over the socket of the run, waits for the decision, also while a person
decides and while the daemon restarts, and answers in the agent's own format.

The call is denied if the daemon is dead, does not decide in time, or answers anything else than allow, if the
input is not understood, and if this program is ended by a signal. Exit code 2 blocks a call in every agent;
decisions are given as JSON with exit code 0.

Outside a run it prints nothing and exits 0, so that the agent's own rules apply; with `--require` it denies.)",
      .examples = {{"reeve hook install claude", "enter it in the user's settings of Claude Code"},
                   {"reeve hook codex --require", "the entry for an agent that must only work inside Reeve"}},
      .positionals = {{.name = "AGENT",
                       .help = "whose format: claude, codex, gemini or qwen",
                       .choices = {"claude", "codex", "gemini", "qwen"}}},
      .options = {{.name = "--require", .help = "deny outside a run"},
                  {.name = "--give-up",
                   .value = "SECONDS",
                   .help = "how long to wait for a decision (default: 10 s less than the agent waits for a hook)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
