#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "client/executions.h"
#include "view/execution_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 20;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  client::Daemon daemon(daemon_place(call));
  const client::ExecutionSelection selection{.statuses = call.arguments.values("--status"),
                                             .label = call.arguments.value("--label"),
                                             .workflow = call.arguments.value("--workflow")};
  std::vector<model::Execution> executions;
  base::Value::Array wire;
  Listed listed(call, client::list_executions(daemon, selection, limit + 1), limit);
  for (client::ExecutionRecord& record : listed) {
    executions.push_back(std::move(record.execution));
    wire.push_back(std::move(record.wire));
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", view::executions_table(executions, call.out, {}).for_pipe());
    return ExitCode::done;
  }
  if (executions.empty()) {
    print_aside("no executions\n");
    print_next(call, "reeve flow run FILE");
    return ExitCode::done;
  }
  // Executions that wait for a person come first (UX).
  std::ranges::sort(executions, {}, [](const model::Execution& execution) {
    const bool waits = execution.status == model::ExecutionStatus::waiting_approval;
    return std::pair(waits ? 0 : 1, -execution.execution_id.number());
  });
  fmt::print("{}", view::executions_table(executions, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
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
          R"(Executions that are waiting for you come first. Executions of subgraphs are listed too, with the node that
started them. When piped, each line has these tab-separated fields: id, status, workflow, label, start,
duration in milliseconds, note. The duration runs from start to end and includes the time spent waiting for
people and for `flow retry`; `reeve flow show` tells how much of it was spent in runs.)",
      .examples = {{"reeve flow list", "the last 20"},
                   {"reeve flow list --status waiting_approval", "what is waiting"},
                   {"reeve flow list --label nightly --json", "for a script"}},
      .positionals = {},
      .options = {{.name = "--status",
                   .value = "STATUS",
                   .help = "only this status",
                   .choices = std::move(statuses),
                   .is_repeatable = true},
                  {.name = "--label", .value = "TEXT", .help = "only this label"},
                  {.name = "--workflow", .value = "NAME", .help = "only this workflow, by id or name"},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
