#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "view/execution_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 20;

// Executions that wait for a person come first (UX).
void by_attention(std::vector<model::Execution>& executions) {
  std::ranges::sort(executions, {}, [](const model::Execution& execution) {
    const bool waits = execution.status == model::ExecutionStatus::waiting_approval;
    return std::pair(waits ? 0 : 1, -execution.execution_id.number());
  });
}

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const Scope scope(call);
  client::Daemon daemon(daemon_place(call));
  const client::ExecutionSelection selection{.statuses = call.arguments.values("--status"),
                                             .label = call.arguments.value("--label"),
                                             .workflow = call.arguments.value("--workflow"),
                                             .project = scope.find_path(daemon),
                                             .with_parts = call.arguments.has("--parts")};
  std::vector<model::Execution> executions;
  base::Value::Array wire;
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    client::ExecutionSelection one = selection;
    one.project = project;
    return client::list_executions(daemon, one, most);
  };
  const auto project_of = [](const client::ExecutionRecord& record) { return record.execution.project; };
  Listed listed(call, scope.list_own_first(selection.project, limit + 1, list, project_of), limit);
  for (client::ExecutionRecord& record : listed) {
    executions.push_back(std::move(record.execution));
    wire.push_back(std::move(record.wire));
  }
  by_attention(executions);
  scope.put_own_first(executions);
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::executions_table(executions, call.out, now);
  add_more_sources(call, scope, Stopped::named, [&](Source& source) {
    std::vector<model::Execution> more;
    for (client::ExecutionRecord& record : client::list_executions(source.daemon, selection, limit)) {
      more.push_back(std::move(record.execution));
      wire.push_back(mark_source(std::move(record.wire), source));
    }
    by_attention(more);
    table.add_rows_of(view::executions_table(more, call.out, now), source.prefix);
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
    print_aside("no executions{}\n", scope.is_limited() ? " in this project" : "");
    print_next(call, "reeve flow run FILE");
    return ExitCode::done;
  }
  fmt::print("{}", table.for_terminal(call.out));
  if (executions.empty()) return ExitCode::done;
  print_next(call, fmt::format("reeve flow show {}", executions.front().execution_id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_flow_list() {
  std::vector<std::string_view> statuses;
  std::ranges::transform(base::names_of<model::ExecutionStatus>(), std::back_inserter(statuses),
                         [](const auto& entry) { return entry.name; });
  return {
      .name = "flow list",
      .summary = "List workflow executions, newest first",
      .about =
          R"(Lists the executions of all projects; those of the current folder's project come first, and those that are
waiting for you before the others. A completed execution whose changes are not yet in your checkout says so:
`reeve flow diff` shows them, `reeve flow apply` applies them. Executions of subgraphs belong to the one that
started them; `--parts` lists them too, with the node that started them. When piped, each line has these tab-separated fields: id, status, workflow, label, start,
duration in milliseconds, note, path of the project. The duration runs from start to end and includes the time spent waiting for
people and for `flow retry`; `reeve flow show` tells how much of it was spent in runs.)",
      .examples = {{"reeve flow list", "the last 20"},
                   {"reeve flow list --status waiting_approval", "what is waiting"},
                   {"reeve flow list --label nightly --json", "for a script"}},
      .positionals = {},
      .options =
          with_scope_options({{.name = "--status",
                               .value = "STATUS",
                               .help = "only this status",
                               .choices = std::move(statuses),
                               .is_repeatable = true},
                              {.name = "--label", .value = "TEXT", .help = "only this label"},
                              {.name = "--workflow", .value = "NAME", .help = "only this workflow, by id or name"},
                              {.name = "--parts", .help = "also list the executions of subgraphs"},
                              {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
