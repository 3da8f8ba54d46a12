#include "cli/commands.h"
#include "cli/flow_start.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  return start_flow(call, call.arguments.positional(0), call.arguments.value("--label"));
}

constexpr std::string_view about =
    R"(Checks the workflow with everything it can reach, starts it in the daemon and follows it. On a terminal
a tree shows each node, how long it takes, what waits for whom; what is asked can be answered right there: a
number and Enter, words after it become the comment. Elsewhere each change is a line, separated by tabs: time,
execution, node, status, note. With `--json` the record is printed at the end.

A word that is no file names a workflow of the project (`.reeve/workflows`), by id, name or file name.

Ctrl-C stops watching, the execution goes on; so does closing the terminal. `reeve flow cancel` ends it.

Exit codes: 0 completed; 1 failed; 90 waits for an approval (`--no-wait`); 130 cancelled, or Ctrl-C;
2 wrong usage or an invalid workflow; 3 no such file; 6 no daemon could be started.)";

}  // namespace

Command make_flow_run() {
  std::vector<Option> options = start_options();
  options.insert(options.begin(),
                 {.name = "--label", .value = "TEXT", .help = "to find it again by; need not be unique"});
  for (Option& option : record_options()) options.push_back(std::move(option));
  return {
      .name = "flow run",
      .summary = "Run a workflow and watch it",
      .about = about,
      .examples = {{"reeve flow run release.yaml --input goal=\"Fix the login\"", "start it and watch"},
                   {"reeve flow run debug --input tries:=3", "a workflow of the project; a number"},
                   {"reeve flow run release.yaml --detach", "print its id and go on"},
                   {"reeve flow run release.yaml --json", "the whole record at the end"}},
      .positionals = {{.name = "FILE",
                       .help = "a workflow file, the name of one, or - for standard input",
                       .is_file = true}},
      .options = std::move(options),
      .run = run,
  };
}

}  // namespace reeve::cli
