#include "client/agent_sessions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/runs.h"
#include "view/session_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 50;

std::optional<base::RunId> find_named_run(const Call& call, client::Daemon& daemon) {
  const auto name = call.arguments.value("--run");
  if (!name) return std::nullopt;
  // A run that does not exist is an error, not an empty list.
  return client::get_run(daemon, find_run(daemon, *name)).run.tool_run_id;
}

ExitCode run(const Call& call) {
  const Scope scope(call);
  client::Daemon daemon(daemon_place(call));
  client::SessionSelection selection{.run = find_named_run(call, daemon)};
  if (selection.run && scope.is_limited()) {
    throw base::Error(base::ErrorCode::cli_usage, "a run belongs to one project", "leave out `--here` and `--project`");
  }
  if (!selection.run) selection.project = scope.find_path(daemon);
  const std::size_t limit = limit_of(call, default_limit);
  base::Value::Array wire;
  std::vector<model::AgentSession> sessions;
  const auto fetch = [&](const std::optional<std::string>& project, std::size_t most) {
    return client::list_sessions(daemon, {.run = selection.run, .project = project}, most);
  };
  Listed listed(call, scope.list_of(selection.project, limit + 1, fetch), limit);
  for (client::SessionRecord& record : listed) {
    sessions.push_back(std::move(record.session));
    wire.push_back(mark_source(std::move(record.wire), call, daemon));
  }
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::sessions_table(sessions, call.out, now);
  if (!selection.run) {
    add_more_sources(call, scope, Stopped::named, [&](Source& source) {
      std::vector<model::AgentSession> more;
      for (client::SessionRecord& record : client::list_sessions(source.daemon, {}, limit)) {
        more.push_back(std::move(record.session));
        wire.push_back(mark_source(std::move(record.wire), source));
      }
      table.add_rows_of(view::sessions_table(more, call.out, now), source.prefix);
    });
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
  } else if (table.is_empty()) {
    print_aside("no sessions of agents{}\n", selection.run        ? " in this run"
                                             : scope.is_limited() ? " in this project"
                                                                  : "");
    print_next(call, "reeve runs");
  } else {
    fmt::print("{}", table.for_terminal(call.out));
    if (!sessions.empty()) print_next(call, fmt::format("reeve show {}", sessions.front().tool_run_id.text()));
  }
  return ExitCode::done;
}

}  // namespace

Command make_agent_sessions() {
  return {
      .name = "agent sessions",
      .summary = "List the sessions of agents with their tokens and cost, newest first",
      .about =
          R"(Lists the sessions that agents reported: the run, the agent with its version and model, and the totals since
the session began. Input includes cached input. A run that continues the session of another run shows the
totals of the whole session; its own part is in `reeve show TR-7`, as usage.

When piped, each line has these tab-separated fields: session, run, agent, version, model, input tokens, output
tokens, cost in US dollars, time of the last report.)",
      .examples = {{"reeve agent sessions", "the last 50 of all runs"},
                   {"reeve agent sessions --run TR-7", "those of one run"},
                   {"reeve agent sessions --json", "for a script"}},
      .positionals = {},
      .options = with_scope_options({{.name = "--run", .value = "ID", .help = "only sessions of this run"},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
