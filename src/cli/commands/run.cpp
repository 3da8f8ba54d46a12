#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/run_request.h"
#include "cli/commands/start_run.h"
#include "cli/connect.h"
#include "json/fields.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

// AGT-4: the session of an agent's earlier run.
std::string find_session(client::Daemon& daemon, base::RunId run) {
  const Value page = daemon.get(fmt::format("/api/agents/sessions?run={}&limit=1", run.text()));
  const Value* items = page.find("items");
  const bool has_one = items != nullptr && items->as_array() != nullptr && !items->as_array()->empty();
  if (has_one) return json::text_of(items->as_array()->front(), "session_id");
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} has no session of an agent", run.text()),
                    fmt::format("start it again: reeve rerun {}", run.text()));
}

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  const auto earlier = call.arguments.value("--resume");
  RunWords words{.tool = call.arguments.value("--tool"), .prompt = call.arguments.value("--prompt")};
  if (!earlier) {
    words.command = call.arguments.positionals();
    if (words.command.empty() && !words.tool) {
      throw base::Error(ErrorCode::cli_usage, "no command to run", "reeve run -- COMMAND, or reeve run --tool NAME");
    }
  } else if (!words.prompt && !call.arguments.positionals().empty()) {
    words.prompt = base::join(call.arguments.positionals(), " ");
  }
  std::optional<std::string> session;
  if (earlier) {
    const model::Run run = client::get_run(daemon, find_run(daemon, *earlier)).run;
    session = find_session(daemon, run.tool_run_id);
    if (!words.tool) words.tool = run.tool_name;
  }
  RunEnds ends = find_ends(call);
  Value request = make_run_request(call, daemon.place(), words, ends);
  if (session) request.set("session", Value::string(*session));
  add_project(request, daemon.place());
  return start_run(call, daemon, std::move(ends), [&] { return client::create_run(daemon, request); });
}

constexpr std::string_view about =
    R"(Runs the command under supervision: its output is passed through, the time limits of the config or of these
options apply, and it continues if this terminal or the daemon dies. Only `--tool` selects a profile of the
config; the words after `--` are then appended to the profile's command. A terminal shows the output byte for
byte; in output to a pipe or file, secrets are masked. When the reader of the output ends, the run is cancelled.

At a terminal, a command without `--tool` gets a terminal of its own, like with `--pty`: keys are forwarded to
it as they are pressed, including Ctrl-C; Ctrl-P Ctrl-Q detaches. It does not if an output is redirected, in the
background, inside a run, or with `--no-pty`. Then Ctrl-C cancels the run (SIGTERM to its whole process tree,
SIGKILL after a grace time), and a second Ctrl-C kills it. Closing the terminal leaves it running; `reeve attach`
reconnects to it.

Standard input that is not a terminal reaches the tool as fast as it reads, then its end (not with a terminal
of its own, or where its prompt is sent). The first 16 MiB are kept until the run has ended, because a run that
is started again, after an approval or an interruption, reads them again; a longer input refuses that. If this
program is killed before the end of the input, the run fails; if it had sent nothing, the tool reads the end.
`--stdin FILE` sends a file, `--stdin none` nothing. With `--detach`, the input is read to its end first; one of
more than 16 MiB is refused, and nothing is started.

With `--queue`, or `supervision.queue: always` in the config, the run waits for its turn: no more than
`supervision.max_parallel_runs` runs of the queue and of workflows are alive at once, those that wait for an
approval not counted. Runs start by priority, then in order. A client that leaves does not lose the place;
`reeve cancel` gives it up.

`--resume TR-7 TEXT` continues the session of an agent that TR-7 ran, with TEXT as its next prompt, as a new run.

With `--json`, no output is passed through, and the record is printed at the end.

Exit codes: 0 completed; the tool's own code when it failed; 1 failed for another reason; 90 waiting for an
approval (`--no-wait`); 124 timed out; 126 the command cannot be executed; 127 it was not found; 128+N
ended by signal N; 130 cancelled; 141 the reader of its output is gone; 2 wrong usage; 5 denied by policy; 6 no daemon could be started.)";

std::vector<Option> all_options() {
  std::vector<Option> all = {
      {.name = "--tool", .value = "NAME", .help = "a tool of the config, or an agent that Reeve knows"},
      {.name = "--prompt", .value = "TEXT", .help = "what the tool should do"},
      {.name = "--resume",
       .value = "TR",
       .help = "continue the session of the agent that this run had",
       .frees_words = true},
      {.name = "--pty", .help = "give it its own terminal"},
      {.name = "--no-pty", .help = "give it none, also at a terminal"},
      {.name = "--stdin", .value = "FROM", .help = "its standard input: none, pipe (this one), or a file"},
      {.name = "--on-prompt", .value = "WHAT", .help = "when it prompts there: approve, fail, answer=TEXT"},
      {.name = "--clean-env", .help = "pass only the allow-listed part of your environment"}};
  for (Option& option : run_options()) all.push_back(std::move(option));
  return all;
}

}  // namespace

Command make_run() {
  return {
      .name = "run",
      .summary = "Run a tool under supervision",
      .about = about,
      .examples = {{"reeve run -- pytest -q", "supervise a command, with its output"},
                   {"reeve run --tool claude --prompt \"Fix the build\"", "a tool of the config"},
                   {"reeve run --timeout 2h --on-stall kill -- make", "with its own limits"},
                   {"reeve run --pty -- codex", "with a terminal; Ctrl-P Ctrl-Q detaches"},
                   {"git diff | reeve run --tool claude --prompt \"Review this\"", "with standard input"},
                   {"reeve run --detach -- ./nightly.sh", "print its id and return"},
                   {"reeve run --resume TR-7 \"Also update the docs\"", "continue the session of an agent"}},
      .positionals = {{.name = "CMD",
                       .help = "the command and its arguments",
                       .is_required = false,
                       .is_repeatable = true,
                       .is_foreign = true}},
      .options = all_options(),
      .run = run,
  };
}

}  // namespace reeve::cli
