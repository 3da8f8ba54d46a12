#include "client/calls.h"

#include <algorithm>
#include <cstdio>
#include <poll.h>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/live/interrupt_message.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/event_feed.h"
#include "client/runs.h"
#include "view/call_text.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

constexpr std::size_t default_limit = 50;
// Calls that are allowed without a person send no event.
constexpr int interval_ms = 500;

std::optional<base::RunId> find_named_run(const Call& call, client::Daemon& daemon) {
  const std::string word = call.arguments.positional(0);
  const auto option = call.arguments.value("--run");
  if (!word.empty() && option) {
    throw base::Error(ErrorCode::cli_usage, "the run is named twice", "leave out `--run`");
  }
  if (word.empty() && !option) return std::nullopt;
  // A run that does not exist is an error, not an empty list.
  return client::get_run(daemon, find_run(daemon, word.empty() ? *option : word)).run.tool_run_id;
}

std::optional<base::WallTime> time_shown(const Call& call) {
  return call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
}

void print_calls(const Call& call, const Source& source, const std::vector<client::CallRecord>& records,
                 JsonListing& listing) {
  std::vector<model::ToolCall> calls;
  for (const client::CallRecord& record : records) {
    if (call.is_json) listing.add(mark_source(record.wire, source));
    calls.push_back(record.call);
  }
  if (call.is_json || calls.empty()) return;
  view::Table table = view::calls_table({}, call.out, time_shown(call));
  table.add_rows_of(view::calls_table(calls, call.out, time_shown(call)), source.prefix);
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
}

// Prints the last calls in the order in which they were made, then each new one.
ExitCode follow(const Call& call, Source& source, client::CallSelection selection) {
  client::Daemon& daemon = source.daemon;
  const InterruptMessage watching("stopped watching");
  const std::size_t limit = limit_of(call, 10);
  constexpr std::size_t max_at_once = 500;
  JsonListing listing(JsonListing::Form::lines);
  // Subscribed before the first reading, so that nothing is late.
  client::EventFeed events(daemon);
  std::vector<client::CallRecord> records = client::list_calls(daemon, selection, limit);
  std::ranges::reverse(records);
  selection.after = base::CallId(0);
  while (true) {
    print_calls(call, source, records, listing);
    if (std::fflush(stdout) != 0) return ExitCode::reader_gone;
    if (!records.empty()) selection.after = records.back().call.call_id;
    pollfd waited{.fd = events.fd(), .events = POLLIN, .revents = 0};
    if (events.has_more() || ::poll(&waited, 1, interval_ms) > 0) events.take();
    if (selection.after->number() == 0) {
      records = client::list_calls(daemon, {.run = selection.run, .project = selection.project}, max_at_once);
      std::ranges::reverse(records);
    } else {
      records = client::list_calls(daemon, selection, max_at_once);
    }
  }
}

ExitCode list(const Call& call, client::Daemon& daemon, const Scope& scope, const client::CallSelection& selection) {
  const std::size_t limit = limit_of(call, default_limit);
  base::Value::Array wire;
  std::vector<model::ToolCall> calls;
  const auto fetch = [&](const std::optional<std::string>& project, std::size_t most) {
    return client::list_calls(daemon, {.run = selection.run, .project = project}, most);
  };
  Listed listed(call, scope.list_of(selection.project, limit + 1, fetch), limit);
  for (client::CallRecord& record : listed) {
    calls.push_back(std::move(record.call));
    wire.push_back(mark_source(std::move(record.wire), call, daemon));
  }
  const auto now = time_shown(call);
  view::Table table = view::calls_table(calls, call.out, now);
  if (!selection.run) {
    add_more_sources(call, scope, Stopped::named, [&](Source& source) {
      std::vector<model::ToolCall> more;
      for (client::CallRecord& record : client::list_calls(source.daemon, {}, limit)) {
        more.push_back(std::move(record.call));
        wire.push_back(mark_source(std::move(record.wire), source));
      }
      table.add_rows_of(view::calls_table(more, call.out, now), source.prefix);
    });
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
  } else if (table.is_empty()) {
    print_aside("no tool calls{}\n", selection.run ? " of this run" : scope.is_limited() ? " in this project" : "");
    print_next(call, "reeve policy show");
  } else {
    fmt::print("{}", table.for_terminal(call.out));
    if (!calls.empty()) print_next(call, fmt::format("reeve show {}", calls.front().call_id.text()));
  }
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  const Scope scope(call);
  const bool follows = call.arguments.has("--follow");
  Source source =
      follows ? find_patient_source(call, scope) : Source{.daemon = client::Daemon(daemon_place(call)), .prefix = {}};
  client::Daemon& daemon = source.daemon;
  client::CallSelection selection{.run = find_named_run(call, daemon)};
  if (selection.run && scope.is_limited()) {
    throw base::Error(ErrorCode::cli_usage, "a run belongs to one project", "leave out `--here` and `--project`");
  }
  if (!selection.run) selection.project = scope.find_path(daemon);
  return follows ? follow(call, source, std::move(selection)) : list(call, daemon, scope, selection);
}

}  // namespace

Command make_calls() {
  return {
      .name = "calls",
      .summary = "List the tool calls of agents and what was decided, newest first",
      .about =
          R"(Lists the tool calls that reached Reeve: what the agent wanted to do, the rule or person that decided, and
what became of it. `reeve show TC-5` shows one in full. Calls that an agent made without asking are not here;
`reeve policy show` says which agents ask.

Outcomes: `ran` and `failed`, as the agent or Reeve's tool host reported; `denied`; `waiting` for a person;
`allowed`, with no report yet; `deferred`: the agent ended while the call waited and is resumed with the answer;
`withdrawn`: the agent continued without an answer; `lost`: allowed, and no result was reported before the agent
ended, so it may have run; `ungated`: the agent reported a result for a call that was not allowed.

`-f` prints the last ten in the order in which they were made, then each new one.

When piped, each line has these tab-separated fields: id, run, time, tool, command or path, decision of the
rules, rule, answer, grant or person that gave it, outcome, path of the project. With `--json`, prints one
array; with `-f` as well, one document per line.

Exit codes: 0 done, 3 no such run, 130 Ctrl-C.)",
      .examples = {{"reeve calls", "the last 50 of all runs"},
                   {"reeve calls TR-7", "those of one run"},
                   {"reeve calls -f --here", "follow new calls in this project"},
                   {"reeve calls --run TR-7 --json", "for a script"}},
      .positionals =
          {{.name = "ID", .help = "TR-17, or @last for the newest run", .is_required = false, .is_id = true}},
      .options = with_scope_options({{.name = "--run", .value = "ID", .help = "only calls of this run"},
                                     {.name = "--follow", .help = "follow new calls", .brief = "-f"},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
