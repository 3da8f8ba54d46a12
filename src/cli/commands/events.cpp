#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/interrupt_message.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/approvals.h"
#include "client/executions.h"
#include "client/lines.h"
#include "client/patches.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "json/fields.h"
#include "view/event_text.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

std::string text_of(const Value& event, std::string_view key) { return base::visible(json::text_of(event, key)); }

std::int64_t number_of(const Value& event) { return json::integer_of(event, "seq").value_or(0); }

// "node_status_change" → "node": the line itself says what has changed.
std::string_view kind_of(std::string_view name) {
  for (const std::string_view ending : {"_status_change", "_state_change"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

// Whether events are about a record of one project. An event names only the record, so each is looked up once; what no
// longer exists belongs to no project.
class ProjectEvents {
 public:
  // Without a project, every event is included. Uses a connection of its own, because the other one is read.
  ProjectEvents(client::DaemonPlace place, std::optional<std::string> project)
      : daemon_(std::move(place)), project_(std::move(project)) {}

  bool includes(const Value& event) {
    if (!project_) return true;
    for (const char* key : {"execution_id", "tool_run_id", "approval_id", "patch_id"}) {
      const std::string id = json::text_of(event, key);
      if (id.empty()) continue;
      // What is forgotten is only looked up again.
      if (known_.size() >= max_known) known_.clear();
      const auto known = known_.find(id);
      return known != known_.end() ? known->second : known_.emplace(id, is_of_project(id)).first->second;
    }
    return false;
  }

 private:
  static constexpr std::size_t max_known = 100'000;

  bool is_of_project(const std::string& id) try {
    std::optional<model::ProjectRef> found;
    if (const auto execution = base::ExecutionId::parse(id)) {
      found = client::get_execution(daemon_, *execution, client::NodeText::brief).execution.project;
    } else if (const auto run = base::RunId::parse(id)) {
      found = client::get_run(daemon_, *run).run.project;
    } else if (const auto approval = base::ApprovalId::parse(id)) {
      found = client::get_approval(daemon_, *approval).approval.project;
    } else if (const auto patch = base::PatchId::parse(id)) {
      found = client::get_patch(daemon_, *patch).patch.project;
    }
    return found && found->path == *project_;
  } catch (const client::Refusal& refusal) {
    if (refusal.status() == 404) return false;
    throw;
  }

  client::Daemon daemon_;
  std::optional<std::string> project_;
  std::map<std::string, bool> known_;
};

void print_event(const Call& call, const Value& event, const std::string& prefix) {
  std::string subject = view::event_subject(event);
  if (!prefix.empty() && !subject.empty()) subject.insert(0, prefix + "/");
  const std::array<std::string, 6> cells = {
      fmt::format("{}", number_of(event)), text_of(event, "timestamp"), text_of(event, "event"), std::move(subject),
      view::event_status(event),           view::event_note(event)};
  if (!call.out_is_terminal) {
    fmt::print("{}\n", fmt::join(cells, "\t"));
    return;
  }
  // "2026-11-15T06:07:52.123Z" → the time of day.
  const std::string time = cells[1].size() > 19 ? cells[1].substr(11, 8) : cells[1];
  // A question may be long; `--json` has all of it.
  constexpr std::size_t max_columns = 300;
  const std::string rest = fmt::format("{:<15}  {:<10}  {}{}{}", kind_of(cells[2]), cells[3], cells[4],
                                       cells[4].empty() || cells[5].empty() ? "" : ": ", cells[5]);
  fmt::print("{}  {}\n", call.out.paint(view::Tint::dim, fmt::format("{:>6}  {}", cells[0], time)),
             base::fit_width(rest, max_columns, call.out.ascii));
}

std::optional<std::int64_t> parse_number(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc() && end == word.data() + word.size() && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> since_of(const Call& call) {
  const auto word = call.arguments.value("--since");
  if (!word) return std::nullopt;
  const auto number = parse_number(*word);
  if (!number) {
    throw base::Error(ErrorCode::cli_usage, fmt::format("{} is not a valid event number", base::quoted(*word)),
                      "use 0 for all, or the number of the last event you have");
  }
  return number;
}

ExitCode run(const Call& call) {
  const bool follows = call.arguments.has("--follow");
  std::optional<std::int64_t> since = since_of(call);
  const Scope scope(call);
  Source source = find_patient_source(call, scope);
  client::Daemon& daemon = source.daemon;
  ProjectEvents wanted(daemon.place(), scope.find_path(daemon));
  const InterruptMessage watching("stopped watching");
  JsonListing listing(follows ? JsonListing::Form::lines : JsonListing::Form::array);
  client::JsonLines lines;
  const auto question = [&] {
    const std::string from = since ? fmt::format("since={}&", *since) : std::string();
    return client::Request{.target = fmt::format("/api/events?{}follow={}", from, follows ? 1 : 0)};
  };
  const auto begin = [&](const client::Response& head) {
    lines.clear();
    const auto began = head.header("Reeve-Since");
    if (!since && began) since = parse_number(*began);
  };
  const auto take = [&](std::string_view bytes) {
    lines.add(bytes);
    while (const auto event = lines.next()) {
      since = number_of(*event);
      if (!wanted.includes(*event)) continue;
      if (call.is_json) {
        listing.add(mark_source(*event, source));
      } else {
        print_event(call, *event, source.prefix);
      }
    }
    return std::fflush(stdout) == 0;
  };
  daemon.follow({.question = question, .begin = begin, .take = take});
  if (call.is_json) listing.end();
  return ExitCode::done;
}

}  // namespace

Command make_events() {
  return {
      .name = "events",
      .summary = "List events in order",
      .about =
          R"(Every status change is an event with a number, without gaps. `-f` follows new events; `--since N` starts
after event N, so that a script misses nothing and sees nothing twice. `--here` and `--project` leave out the
events of other projects, and of records that no longer exist. When piped, each line has these tab-separated
fields: number, time, event, subject, status, and details: who, what was asked or answered, why.

With `--json`, prints one array; with `-f` as well, one document per line.

Exit codes: 0 done, 4 no event has that number yet (is this another store?), 130 Ctrl-C.)",
      .examples = {{"reeve events -f", "follow new events"},
                   {"reeve events -f --here", "only the project of the current folder"},
                   {"reeve events --since 0 --json", "everything, for a script"}},
      .positionals = {},
      .options = with_scope_options({{.name = "--follow", .help = "follow new events", .brief = "-f"},
                                     {.name = "--since", .value = "N", .help = "start after event N"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
