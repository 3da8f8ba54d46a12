#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/grants.h"
#include "view/grant_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 50;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const Scope scope(call);
  client::Daemon daemon(daemon_place(call));
  const client::GrantSelection selection{.all = call.arguments.has("--all"), .project = scope.find_path(daemon)};
  std::vector<model::Grant> grants;
  base::Value::Array wire;
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    return client::list_grants(daemon, {.all = selection.all, .project = project}, most);
  };
  Listed listed(call, scope.list_of(selection.project, limit + 1, list), limit);
  for (client::GrantRecord& record : listed) {
    grants.push_back(std::move(record.grant));
    wire.push_back(std::move(record.wire));
  }
  const base::WallTime now = base::SystemClock().wall_now();
  const view::TimeForm form = call.out_is_terminal ? view::TimeForm::for_terminal : view::TimeForm::for_pipe;
  view::Table table = view::grants_table(grants, call.out, now, form);
  add_more_sources(call, scope, Stopped::named, [&](Source& source) {
    std::vector<model::Grant> more;
    for (client::GrantRecord& record : client::list_grants(source.daemon, {.all = selection.all}, limit)) {
      more.push_back(std::move(record.grant));
      wire.push_back(mark_source(std::move(record.wire), source));
    }
    table.add_rows_of(view::grants_table(more, call.out, now, form), source.prefix);
  });
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
  } else if (!call.out_is_terminal) {
    fmt::print("{}", table.for_pipe());
  } else if (table.is_empty()) {
    print_aside("no standing grants{}\n", selection.all ? "" : " in force");
    print_next(call, selection.all ? "reeve policy show" : "reeve policy grants --all");
  } else {
    fmt::print("{}", table.for_terminal(call.out));
    if (!grants.empty()) print_next(call, fmt::format("reeve policy revoke {}", grants.front().grant_id.text()));
  }
  return ExitCode::done;
}

}  // namespace

Command make_policy_grants() {
  return {
      .name = "policy grants",
      .summary = "List standing grants: tool calls that run without asking again",
      .about =
          R"(Lists what `reeve approve --always` has granted and is in force: what each grant allows, to which agent, for
which run, execution or project, until when, and how often it was used. A grant never overrides a `deny`.
`reeve show GR-3` shows one in full; `reeve policy revoke` ends it.

When piped, each line has these tab-separated fields: id, status (active, expired, revoked), scope, agent,
tool, match, what it allows, uses, expiry, who made it, path of the project.)",
      .examples = {{"reeve policy grants", "those in force"},
                   {"reeve policy grants --all", "also those that have expired or were revoked"},
                   {"reeve policy grants --json", "for a script"}},
      .positionals = {},
      .options = with_scope_options({{.name = "--all", .help = "include expired and revoked grants"},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
