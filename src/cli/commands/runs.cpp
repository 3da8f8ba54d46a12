#include "client/runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 20;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const Scope scope(call);
  client::Daemon daemon(daemon_place(call));
  const auto statuses = call.arguments.values("--status");
  std::vector<model::Run> runs;
  base::Value::Array wire;
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    return client::list_runs(daemon, statuses, most, project);
  };
  const auto project_of = [](const client::RunRecord& record) { return record.run.project; };
  Listed listed(call, scope.list_own_first(scope.find_path(daemon), limit + 1, list, project_of), limit);
  for (client::RunRecord& record : listed) {
    runs.push_back(std::move(record.run));
    wire.push_back(std::move(record.wire));
  }
  runs = view::by_attention(std::move(runs));
  scope.put_own_first(runs);
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::runs_table(runs, call.out, now);
  add_more_sources(call, scope, Stopped::named, [&](Source& source) {
    std::vector<model::Run> more;
    for (client::RunRecord& record : client::list_runs(source.daemon, statuses, limit)) {
      more.push_back(std::move(record.run));
      wire.push_back(mark_source(std::move(record.wire), source));
    }
    table.add_rows_of(view::runs_table(view::by_attention(std::move(more)), call.out, now), source.prefix);
  });
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
    return ExitCode::done;
  }
  if (table.is_empty()) {
    print_aside("no runs{}\n", scope.is_limited() ? " in this project" : "");
    print_next(call, "reeve run -- COMMAND");
    return ExitCode::done;
  }
  fmt::print("{}", table.for_terminal(call.out));
  if (!runs.empty()) print_next(call, fmt::format("reeve show {}", runs.front().tool_run_id.text()));
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
          R"(Lists the runs of all projects; those of the current folder's project come first. Runs that are waiting for
you precede stalled runs and all others, newest first. Runs of a project that keeps its own state are written
`NAME/TR-4`, and can be named so in other commands.

When piped, each line has these tab-separated fields: id, status, tool, start, duration in milliseconds, command,
note, path of the project.)",
      .examples = {{"reeve runs", "the last 20"},
                   {"reeve runs --status failed --status failed_timeout", "what went wrong"},
                   {"reeve runs --here", "only the project of the current folder"},
                   {"reeve runs --limit 500 --json", "for a script"}},
      .positionals = {},
      .options = with_scope_options({{.name = "--status",
                                      .value = "STATUS",
                                      .help = "only this status",
                                      .choices = std::move(statuses),
                                      .is_repeatable = true},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
