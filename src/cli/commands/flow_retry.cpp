#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/flow_start.h"
#include "cli/read_problems.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "client/refusal.h"
#include "project/project.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

base::Value read_correction(const Call& call) {
  base::Value correction = base::Value::object();
  if (const auto file = call.arguments.value("--with")) {
    correction.set("source", base::Value::string(project::read_source(*file)->text()));
    std::error_code error;
    const std::string path = std::filesystem::absolute(*file, error).lexically_normal().string();
    if (*file != "-" && !is_elsewhere(daemon_place(call))) correction.set("file", base::Value::string(path));
  }
  base::Value inputs = read_inputs(call);
  if (!inputs.as_object()->empty()) correction.set("inputs", std::move(inputs));
  return correction;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_execution(daemon, call.arguments.positional(0));
  const base::Value correction = read_correction(call);
  std::optional<client::ExecutionRecord> retried;
  try {
    retried = client::retry_execution(daemon, id, correction);
  } catch (const client::Refusal& refusal) {
    if (!refusal.is(base::ErrorCode::flow_invalid) || call.is_json) throw;
    const Files files = is_elsewhere(daemon.place()) ? Files::elsewhere : Files::here;
    return refuse(call, base::ErrorCode::flow_invalid, refusal.message(),
                  read_problems(refusal.document().find("errors"), files), "Nothing was changed.");
  }
  const client::ExecutionRecord& record = *retried;
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  if (call.out_is_terminal) {
    fmt::print("{} {}\n", shown_id(call, id.text()), view::status_text(record.execution.status, call.out));
  } else {
    fmt::print("{}\t{}\n", shown_id(call, id.text()), base::spell(record.execution.status));
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
          R"(Failed steps are tried again; completed steps are not redone. The config is the one that the execution was
started with, and so are the workflow and its inputs, unless they are corrected:

`--with FILE` continues with the workflow in FILE. Its steps that have completed must be as they were; the others
may change, and steps and edges may be added, not removed. What has been decided stays decided. A step that
failed restarts with the inputs it had, unless what arrives there has changed. The corrected workflow is
stored as a new version; `reeve flow show --json` lists the corrections.

`--input` and `--inputs` correct inputs, as long as the first step has not completed.

Exit codes: 0 resumed; 2 the corrected workflow is not valid; 3 no such execution; 4 it did not fail, nothing in it
can be retried, or the correction concerns what has already run.)",
      .examples = {{"reeve flow retry EX-9", ""},
                   {"reeve flow retry EX-9 && reeve wait EX-9", "and wait for it"},
                   {"reeve flow retry EX-9 --with release.yaml", "after correcting the file"},
                   {"reeve flow retry EX-9 --input goal=\"Fix the login\"", "its first step failed"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {{.name = "--with", .value = "FILE", .help = "continue with this corrected workflow"},
                  {.name = "--input",
                   .value = "NAME=TEXT",
                   .help = "corrected input; NAME:=JSON for non-text values",
                   .is_repeatable = true},
                  {.name = "--inputs", .value = "FILE", .help = "file with a JSON object of corrected inputs"}},
      .run = run,
  };
}

}  // namespace reeve::cli
