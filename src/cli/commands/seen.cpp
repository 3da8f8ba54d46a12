#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/scope.h"
#include "cli/shown_id.h"
#include "cli/sources.h"
#include "client/executions.h"
#include "client/runs.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

ExitCode see_all(const Call& call) {
  const Scope scope(call);
  Source source = find_source(call, scope);
  client::dismiss_failures(source.daemon, scope.find_path(source.daemon));
  add_more_sources(call, scope, Stopped::named, [](Source& more) { client::dismiss_failures(more.daemon, {}); });
  if (call.is_json) {
    print_json(call, base::Value::object());
  } else {
    fmt::print("all failures{} dismissed\n", scope.is_limited() ? " of the project" : "");
  }
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  const bool is_all = call.arguments.has("--all");
  if (is_all != call.arguments.positionals().empty()) {
    throw base::Error(ErrorCode::cli_usage,
                      is_all ? "an id and `--all` cannot be combined" : "which failure? Give an id (TR-17) or --all",
                      "reeve seen TR-17, or reeve seen --all");
  }
  if (is_all) return see_all(call);
  if (Scope(call).is_limited()) {
    throw base::Error(ErrorCode::cli_usage, "`--here` and `--project` apply only to `--all`", "leave them out");
  }
  client::Daemon daemon(daemon_place(call));
  base::Value::Array seen;
  for (const std::string& word : call.arguments.positionals()) {
    std::string id;
    if (const auto execution = base::ExecutionId::parse(word)) {
      client::dismiss_execution(daemon, *execution);
      id = execution->text();
      if (call.is_json) {
        base::Value wire = client::get_execution(daemon, *execution, client::NodeText::brief).wire;
        seen.push_back(mark_source(std::move(wire), call, daemon));
      }
    } else {
      const base::RunId run = find_run(daemon, word);
      client::RunRecord record = client::dismiss_run(daemon, run);
      id = run.text();
      seen.push_back(mark_source(std::move(record.wire), call, daemon));
    }
    if (!call.is_json) fmt::print("{} dismissed\n", shown_id(call, id));
  }
  if (call.is_json) print_json(call, base::Value::array(std::move(seen)));
  return ExitCode::done;
}

}  // namespace

Command make_seen() {
  return {
      .name = "seen",
      .summary = "Dismiss failures that you know about",
      .about =
          R"(`reeve` alone no longer shows them. The records keep their status; `reeve runs --status failed` and
`reeve flow list --status failed` still list them. `--all` dismisses all failures, or those of one project; projects
with their own state are included while their daemon runs.

Exit codes: 0 done, 3 no such run or execution, 4 it did not fail.)",
      .examples = {{"reeve seen TR-17 EX-9", ""},
                   {"reeve seen --all", "every failure"},
                   {"reeve seen --all --here", "those of this project"}},
      .positionals = {{.name = "ID",
                       .help = "TR-17, EX-9, or @last for the newest run",
                       .is_required = false,
                       .is_repeatable = true,
                       .is_id = true}},
      .options = with_scope_options({{.name = "--all", .help = "dismiss all failures"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
