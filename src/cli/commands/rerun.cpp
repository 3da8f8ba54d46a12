#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/commands/start_run.h"
#include "cli/connect.h"
#include "cli/environment.h"
#include "cli/live/stdin_source.h"
#include "cli/live/trust_notice.h"
#include "os/terminal.h"

namespace reeve::cli {

namespace {

using base::Value;

ExitCode run(const Call& call) {
  client::Daemon daemon(patient_place(call));
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  Value request = Value::object();
  // The environment means nothing on another machine.
  request.set("environment", is_elsewhere(daemon.place()) ? Value::object() : own_environment());
  request.set("env", read_pairs(call, "--env"));
  if (const auto prompt = call.arguments.value("--prompt")) request.set("prompt", Value::string(*prompt));
  std::optional<StdinSource> source = find_stdin_source(call);
  // Without the option and without a pipe, the daemon refuses a run that read standard input.
  if (source || call.arguments.has("--stdin")) {
    const auto use = source ? source->use : model::StandardInput::none;
    request.set("standard_input", Value::string(base::spell(use)));
  }
  if (call.arguments.has("--queue")) request.set("queue", Value::boolean(true));
  if (const auto priority = read_priority(call)) request.set("priority", Value::integer(*priority));
  const auto size = os::terminal_size(STDIN_FILENO).value_or(os::TerminalSize{});
  request.set("rows", Value::integer(size.rows));
  request.set("columns", Value::integer(size.columns));
  if (const auto project = project_here(daemon.place())) tell_trust(*project, Brings::commands);
  return start_run(call, daemon, {.source = std::move(source)}, [&] { return client::rerun(daemon, id, request); });
}

}  // namespace

Command make_rerun() {
  return {
      .name = "rerun",
      .summary = "Start a run that has ended once more, as a new run",
      .about =
          R"(The new run has the same command, folder, prompt, limits and priority. Its environment is that of this
shell, as for `reeve run`, because the environment of a run is not kept after its end. Values that were given
with `--env` must be given again. The metadata `rerun_of` names the first run.

A run whose command contains a secret cannot be started again, because secrets are not kept either; one
whose prompt does, or is longer than 64 KiB, needs `--prompt`. A run of a workflow's node is repeated by
`reeve flow retry`.

Standard input is not kept either: a run that read it needs it again, from a pipe or with `--stdin FILE`;
`--stdin none` starts it without. A run that was started with `--queue` is queued again.

Exit codes: as for `reeve run`; 3 no such run, 4 it cannot be started again.)",
      .examples = {{"reeve rerun TR-17", "with its output"},
                   {"reeve rerun @last --detach", "print the new id and return"},
                   {"reeve rerun TR-17 --env STAGE=test", "it was started with that variable"},
                   {"git diff | reeve rerun TR-17", "it read standard input"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_id = true}},
      .options =
          {{.name = "--env", .value = "NAME=VALUE", .help = "set an environment variable", .is_repeatable = true},
           {.name = "--prompt", .value = "TEXT", .help = "the prompt, if it was not kept"},
           {.name = "--stdin", .value = "FROM", .help = "its standard input: none, pipe (this one), or a file"},
           {.name = "--queue", .help = "wait for its turn, also if the first run did not"},
           {.name = "--priority", .value = "N", .help = "in the queue, instead of that of the first run"},
           {.name = "--detach", .help = "print its id and return at once"},
           {.name = "--no-wait", .help = "exit with code 90 when an approval is needed"}},
      .run = run,
  };
}

}  // namespace reeve::cli
