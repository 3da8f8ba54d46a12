#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/runs.h"
#include "view/status.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

std::optional<base::TimeLimit> find_limit(const Call& call, std::string_view option) {
  const auto word = call.arguments.value(option);
  if (!word) return std::nullopt;
  const auto limit = base::parse_time_limit(*word);
  if (limit) return limit;
  throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid value for `{}`", base::quoted(*word), option),
                    fmt::format("use {}, or off", base::duration_forms));
}

ExitCode run(const Call& call) {
  const wire::RunLimits limits{.timeout = find_limit(call, "--timeout"),
                               .no_output_timeout = find_limit(call, "--no-output-timeout")};
  if (!limits.timeout && !limits.no_output_timeout) {
    throw base::Error(ErrorCode::cli_usage, "which limit? Give --timeout or --no-output-timeout",
                      "reeve limit TR-17 --timeout 2h");
  }
  client::Daemon daemon(daemon_place(call));
  const base::RunId id = find_run(daemon, call.arguments.positional(0));
  const auto record = client::limit_run(daemon, id, limits);
  if (call.is_json) {
    print_json(call, mark_source(record.wire, call, daemon));
    return ExitCode::done;
  }
  std::string text;
  if (limits.timeout) {
    text = fmt::format("timeout {}", base::format_time_limit(*limits.timeout));
    const auto process = client::find_process(daemon, id).process;
    if (process && process->time_left_ms) {
      text += fmt::format(" ({} left)", view::span_text(base::Milliseconds(*process->time_left_ms)));
    }
  }
  if (limits.no_output_timeout) {
    text += fmt::format("{}no-output timeout {}", text.empty() ? "" : ", ",
                        base::format_time_limit(*limits.no_output_timeout));
  }
  fmt::print("{} {}\n", shown_id(call, id.text()), text);
  return ExitCode::done;
}

}  // namespace

Command make_limit() {
  return {
      .name = "limit",
      .summary = "Change the limits of a live run",
      .about =
          R"(`--timeout` is the time that the run may take in all, counted from its start without waits for answers and
pauses; a run that had none has that much from now on. `--no-output-timeout` is how long it may be silent
and idle. `off` removes a limit. Both also apply to its further attempts.

A timeout that the run has already passed is refused; `reeve cancel` ends it.

Exit codes: 0 done, 3 no such run, 4 it has no process, or has run for longer than that.)",
      .examples = {{"reeve limit TR-17 --timeout 2h", "two hours in all"},
                   {"reeve limit TR-17 --no-output-timeout off", "it may be silent"}},
      .positionals = {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_id = true}},
      .options = {{.name = "--timeout", .value = "D", .help = "time that it may take in all, or off"},
                  {.name = "--no-output-timeout", .value = "D", .help = "time that it may be silent and idle, or off"}},
      .run = run,
  };
}

}  // namespace reeve::cli
