#include "client/runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 20;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  client::Daemon daemon(daemon_place(call));
  std::vector<model::Run> runs;
  base::Value::Array wire;
  Listed listed(call, client::list_runs(daemon, call.arguments.values("--status"), limit + 1), limit);
  for (client::RunRecord& record : listed) {
    runs.push_back(std::move(record.run));
    wire.push_back(std::move(record.wire));
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  runs = view::by_attention(std::move(runs));
  if (!call.out_is_terminal) {
    fmt::print("{}", view::runs_table(runs, call.out, {}).for_pipe());
    return ExitCode::done;
  }
  if (runs.empty()) {
    print_aside("no runs\n");
    print_next(call, "reeve run -- COMMAND");
    return ExitCode::done;
  }
  fmt::print("{}", view::runs_table(runs, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
  print_next(call, fmt::format("reeve show {}", runs.front().tool_run_id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_runs() {
  const auto& names = base::names_of<model::RunStatus>();
  std::vector<std::string_view> statuses;
  std::ranges::transform(names, std::back_inserter(statuses), [](const auto& entry) { return entry.name; });
  return {
      .name = "runs",
      .summary = "List runs, newest first",
      .about =
          R"(Runs that are waiting for you come first, then stalled runs, then the others, newest first. When piped,
each line has these tab-separated fields: id, status, tool, start, duration in milliseconds, command, note.)",
      .examples = {{"reeve runs", "the last 20"},
                   {"reeve runs --status failed --status failed_timeout", "what went wrong"},
                   {"reeve runs --limit 500 --json", "for a script"}},
      .positionals = {},
      .options = {{.name = "--status",
                   .value = "STATUS",
                   .help = "only this status",
                   .choices = std::move(statuses),
                   .is_repeatable = true},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
