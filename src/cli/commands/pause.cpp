#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "client/runs.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

ExitCode print_run(const Call& call, const client::Daemon& daemon, const client::RunRecord& record,
                   std::string_view what) {
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
  } else {
    fmt::print("{} {}: {}\n", shown_id(call, record.run.tool_run_id.text()), what,
               base::visible(view::command_text(record.run.argv)));
  }
  return ExitCode::done;
}

ExitCode print_execution(const Call& call, const client::Daemon& daemon, const client::ExecutionRecord& record,
                         std::string_view what) {
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
  } else {
    fmt::print("{} {}: {}\n", shown_id(call, record.execution.execution_id.text()), what,
               base::visible(record.execution.workflow_name));
  }
  return ExitCode::done;
}

ExitCode run_pause(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  if (const auto execution = base::ExecutionId::parse(call.arguments.positional(0))) {
    const ExitCode code = print_execution(call, daemon, client::pause_execution(daemon, *execution), "paused");
    print_next(call, fmt::format("reeve resume {}", execution->text()));
    return code;
  }
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const ExitCode code = print_run(call, daemon, client::pause_run(daemon, id), "paused");
  print_next(call, fmt::format("reeve resume {}", id.text()));
  return code;
}

ExitCode run_resume(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  if (const auto execution = base::ExecutionId::parse(call.arguments.positional(0))) {
    return print_execution(call, daemon, client::resume_execution(daemon, *execution), "continues");
  }
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  return print_run(call, daemon, client::resume_run(daemon, id), "continues");
}

}  // namespace

Command make_pause() {
  return {
      .name = "pause",
      .summary = "Stop a run or execution until you let it continue",
      .about =
          R"(Stops the whole process tree with SIGSTOP, also children that left the process group. Meanwhile no limit
counts: neither the timeout nor the no-output timeout nor the time to exit after a result. Questions can
be answered; the answer takes effect when the run continues. A paused run can be cancelled, and stays
paused when the daemon restarts. Pausing a paused run changes nothing.

For an execution, pauses its runs and those of its subgraphs, and starts no further node; a run that is about
to begin waits.

Exit codes: 0 done, 3 no such run or execution, 4 it has no process, or its keeper is too old.)",
      .examples = {{"reeve pause TR-17", ""},
                   {"reeve pause EX-9", "an execution: no further node starts"},
                   {"reeve resume TR-17", "let it continue"}},
      .positionals = {{.name = "ID", .help = "TR-17, EX-9, or @last for the newest run", .is_id = true}},
      .options = {},
      .run = run_pause,
  };
}

Command make_resume() {
  return {
      .name = "resume",
      .summary = "Let a paused run or execution continue",
      .about =
          R"(Continues the processes that `reeve pause` stopped, with what was left of their timeout. Resuming a run
that is not paused changes nothing. An execution continues with all of its runs, also those that were paused
one by one.

Exit codes: 0 done, 3 no such run or execution, 4 it has no process.)",
      .examples = {{"reeve resume TR-17", ""}, {"reeve resume EX-9", "and all of its runs"}},
      .positionals = {{.name = "ID", .help = "TR-17, EX-9, or @last for the newest run", .is_id = true}},
      .options = {},
      .run = run_resume,
  };
}

}  // namespace reeve::cli
