#include "cli/commands/flow_cancel.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/cancelled_work.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "view/status.h"

namespace reeve::cli {

ExitCode cancel_execution(const Call& call, client::Daemon& daemon, base::ExecutionId id) {
  const CancelledWork work = CancelledWork::find(daemon, id);
  const auto record = client::cancel_execution(daemon, id, call.arguments.value("--reason"));
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  if (call.out_is_terminal) {
    fmt::print("{} {}: {}\n", shown_id(call, id.text()), view::status_text(record.execution.status, call.out),
               base::visible(record.execution.workflow_name));
  } else {
    fmt::print("{}\t{}\n", shown_id(call, id.text()), base::spell(record.execution.status));
  }
  work.print(call);
  return ExitCode::done;
}

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  return cancel_execution(call, daemon, find_execution(daemon, call.arguments.positional(0)));
}

}  // namespace

Command make_flow_cancel() {
  return {
      .name = "flow cancel",
      .summary = "Cancel an execution and everything it runs",
      .about =
          R"(Nothing more is started; running tools are ended with their whole process trees, pending questions no
longer need an answer, and subgraphs are cancelled too. The record says who cancelled it and why. Names the
runs and questions that it ended.

Exit codes: 0 done, 3 no such execution, 4 it has already ended.)",
      .examples = {{"reeve flow cancel EX-9", ""}, {"reeve flow cancel @last --reason \"wrong branch\"", "say why"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {{.name = "--reason", .value = "TEXT", .help = "reason to record"}},
      .run = run,
  };
}

}  // namespace reeve::cli
