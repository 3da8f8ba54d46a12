#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/commands/cancelled_work.h"
#include "cli/commands/flow_cancel.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/runs.h"
#include "view/run_text.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  if (const auto execution = base::ExecutionId::parse(call.arguments.positional(0))) {
    if (call.arguments.has("--kill")) {
      throw base::Error(base::ErrorCode::cli_usage, "`--kill` applies only to runs",
                        fmt::format("reeve cancel {}", execution->text()));
    }
    return cancel_execution(call, daemon, *execution);
  }
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const CancelledWork work = CancelledWork::find(daemon, id);
  const auto record = client::cancel_run(
      daemon, id, {.reason = call.arguments.value("--reason"), .kill = call.arguments.has("--kill")});
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  // The process tree may still be in its grace time.
  const bool is_over = model::is_final(record.run.status);
  fmt::print("{} {}: {}\n", shown_id(call, id.text()),
             is_over ? view::status_text(record.run.status, call.out) : "is being cancelled",
             base::visible(view::command_text(record.run.argv)));
  work.print(call);
  if (!is_over) print_next(call, fmt::format("reeve wait {}", id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_cancel() {
  return {
      .name = "cancel",
      .summary = "Cancel a run or execution and everything it started",
      .about =
          R"(Sends SIGTERM to the whole process tree, and SIGKILL after the tool's grace time; children that left the
process group are ended too. The record says who cancelled it and why. For an execution, all of its runs
are ended this way. Names what it ended, and the questions that no longer need an answer.

Exit codes: 0 done, 3 no such run or execution, 4 it has already ended.)",
      .examples = {{"reeve cancel TR-17", ""}, {"reeve cancel @last --reason \"wrong branch\"", "say why"}},
      .positionals = {{.name = "ID", .help = "TR-17, EX-9, or @last for the newest run", .is_id = true}},
      .options = {{.name = "--reason", .value = "TEXT", .help = "reason to record"},
                  {.name = "--kill", .help = "kill at once, without the grace time"}},
      .run = run,
  };
}

}  // namespace reeve::cli
