#include "cli/commands.h"
#include "cli/live/flow_start.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  return start_flow(call, call.arguments.positional(0), call.arguments.value("--label"));
}

constexpr std::string_view about =
    R"(Checks the workflow and everything it can reach, starts it in the daemon and follows it. On a terminal, a
tree shows each node, how long it takes and what it is waiting for; questions can be answered right there:
type a number and press Enter; text after the number becomes the comment. When piped, each change is a line
of tab-separated fields: time, execution, node, status, note. With `--json`, the record is printed at the end.

Inputs that the workflow declares are checked before anything starts. At a terminal, missing ones are asked for,
unless `CI` or `REEVE_NO_INPUT` is set.

An argument that is not a file names a project workflow (`.reeve/workflows`) by id, name or file name.

Ctrl-C, like closing the terminal, stops watching; the execution continues. `reeve flow cancel` cancels it.

Exit codes: 0 completed; 1 failed; 90 waiting for an approval (`--no-wait`); 130 cancelled, or Ctrl-C;
2 wrong usage or an invalid workflow; 3 no such file; 6 no daemon could be started.)";

}  // namespace

Command make_flow_run() {
  std::vector<Option> options = start_options();
  options.insert(options.begin(),
                 {.name = "--label", .value = "TEXT", .help = "label to find it by; need not be unique"});
  for (Option& option : record_options()) options.push_back(std::move(option));
  return {
      .name = "flow run",
      .summary = "Run a workflow and watch it",
      .about = about,
      .examples = {{"reeve flow run release.yaml --input goal=\"Fix the login\"", "start and watch it"},
                   {"reeve flow run debug --input tries:=3", "a project workflow with a numeric input"},
                   {"reeve flow run release.yaml --detach", "print its id and return"},
                   {"reeve flow run release.yaml --json", "the whole record at the end"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, the name of a project workflow, or - for standard input",
                       .is_file = true}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
