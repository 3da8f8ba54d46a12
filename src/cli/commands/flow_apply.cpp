#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_execution(daemon, call.arguments.positional(0));
  const client::AppliedExecution applied = client::apply_execution(daemon, id);
  if (call.is_json) {
    print_json(call, mark_source(applied.wire, call, daemon));
  } else if (call.out_is_terminal) {
    const bool is_done = applied.outcome == "applied";
    const std::string sign = call.out.paint(is_done ? view::Tint::green : view::Tint::yellow,
                                            is_done ? call.out.pick("✓", "+") : call.out.pick("◆", "?"));
    fmt::print("{} {}: {}\n", sign, shown_id(call, id.text()), call.out.words(base::visible(applied.message)));
  } else {
    fmt::print("{}\t{}\t{}\n", shown_id(call, id.text()), applied.outcome, base::visible(applied.message));
  }
  if (applied.outcome != "asked") return ExitCode::done;
  if (applied.approval_id) print_next(call, fmt::format("reeve show {}", applied.approval_id->text()));
  return ExitCode::waiting;
}

}  // namespace

Command make_flow_apply() {
  return {
      .name = "flow apply",
      .summary = "Apply all changes of a completed execution to your checkout",
      .about =
          R"(For executions with `apply: manual`, and for changes that could not be applied when the execution completed.
Merges the branch of the execution, with the changes of its nodes in the order in which they were made, by
a three-way merge into your checkout, only while that is clean. The gates that passed in the execution run
again on exactly what your checkout would become, unless they have already approved that. If one fails,
nothing is changed. `reeve flow diff EX-9` shows the changes first.

If a question whether to apply them is open, or the changes concern files that control agents or Reeve,
the answer to that question applies them.

Exit codes: 0 applied, or there was nothing to apply; 3 no such execution; 4 it has not completed, or this is
not possible now, and nothing was changed; 90 an approval is needed first.)",
      .examples = {{"reeve flow diff EX-9", "look first"}, {"reeve flow apply EX-9", "then apply"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
