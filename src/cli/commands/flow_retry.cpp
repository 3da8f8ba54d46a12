#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/executions.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_execution(daemon, call.arguments.positional(0));
  const auto record = client::retry_execution(daemon, id);
  if (call.is_json) {
    print_json(call, record.wire);
    return ExitCode::done;
  }
  if (call.out_is_terminal) {
    fmt::print("{} {}\n", id.text(), view::status_text(record.execution.status, call.out));
  } else {
    fmt::print("{}\t{}\n", id.text(), base::spell(record.execution.status));
  }
  print_next(call, fmt::format("reeve wait {}", id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_flow_retry() {
  return {
      .name = "flow retry",
      .summary = "Retry a failed execution from the failed steps",
      .about =
          R"(Failed steps are tried again; completed steps are not redone. The workflow, its config and its inputs are
those that the execution was started with.

Exit codes: 0 resumed, 3 no such execution, 4 it did not fail, or nothing in it can be retried.)",
      .examples = {{"reeve flow retry EX-9", ""}, {"reeve flow retry EX-9 && reeve wait EX-9", "and wait for it"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
