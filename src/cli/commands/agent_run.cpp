#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/run_request.h"
#include "cli/commands/start_run.h"
#include "cli/connect.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

ExitCode run(const Call& call) {
  const std::vector<std::string>& given = call.arguments.positionals();
  const std::vector<std::string> text(given.begin() + 1, given.end());
  RunWords words{.tool = given.front(), .prompt = base::join(text, " ")};
  if (base::trim(*words.prompt).empty()) {
    throw base::Error(ErrorCode::cli_usage, "the agent needs a prompt: what should it do?",
                      fmt::format("reeve agent run {} \"fix the failing test\"", base::visible(given.front())));
  }
  client::Daemon daemon(patient_place(call));
  // Its standard input has the prompt.
  RunEnds ends;
  Value request = make_run_request(call, daemon.place(), words, ends);
  add_project(request, daemon.place());
  return start_run(call, daemon, std::move(ends), [&] { return client::create_run(daemon, request); });
}

constexpr std::string_view about =
    R"(Starts an agent behind its adapter, which speaks the agent's own protocol and asks Reeve about every tool call.
AGENT is a tool of the config with `agent:`, or one that Reeve knows without a profile: claude, codex, gemini,
qwen, opencode. The rest of the line is the prompt.

What the agent may do without asking is decided by the policies (`reeve policy show`); the rest waits for a person
(`reeve approvals`). An agent that waits longer than `release_after` is ended, and its session is resumed with the
answer. `reeve calls TR-7` lists its calls, `reeve run --resume TR-7 TEXT` continues its session.

Exit codes: as `reeve run`.)";

}  // namespace

Command make_agent_run() {
  return {
      .name = "agent run",
      .summary = "Give one job to an agent",
      .about = about,
      .examples = {{"reeve agent run claude \"Fix the failing test\"", "with its output, and its questions"},
                   {"reeve agent run codex --model gpt-5 --detach \"Update the docs\"", "in the background"},
                   {"reeve calls @last", "what it did, and what was decided"}},
      .positionals = {{.name = "AGENT", .help = "a tool with `agent:`, or claude, codex, gemini, qwen, opencode"},
                      {.name = "PROMPT", .help = "what the agent should do", .is_repeatable = true}},
      .options = run_options(),
      .run = run,
  };
}

}  // namespace reeve::cli
