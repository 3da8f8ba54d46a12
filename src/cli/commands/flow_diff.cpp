#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "view/patch_text.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_execution(daemon, call.arguments.positional(0));
  const client::ExecutionDiff found = client::get_diff(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(found.wire, call, daemon));
    return ExitCode::done;
  }
  if (found.diff.empty()) {
    print_aside("{} has changed nothing\n", shown_id(call, id.text()));
    return ExitCode::done;
  }
  fmt::print("{}", call.out_is_terminal ? view::diff_text(found.diff, call.out) : found.diff);
  if (found.is_cut) {
    print_aside("the diff is longer than what is shown; all of it: git diff {} {}\n",
                found.base_commit.value_or("").substr(0, 12), found.branch.value_or(""));
  }
  if (call.out_is_terminal) print_next(call, fmt::format("reeve flow apply {}", id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_flow_diff() {
  return {
      .name = "flow diff",
      .summary = "Show everything that an execution has changed",
      .about =
          R"(Prints the changes of all its nodes as one diff against the commit at which it started: what `reeve flow apply`
would bring into your checkout. Unchanged when piped, sanitized and coloured on a terminal; secret values
are replaced by `***`. `reeve patch list EX-9` lists the changes node by node.

Exit codes: 0 done, 3 no such execution.)",
      .examples = {{"reeve flow diff EX-9", ""}, {"reeve flow diff @last | git apply --check", "does it apply here?"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
