#include "client/approvals.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/advice.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/health.h"
#include "view/approval_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 50;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const Scope scope(call);
  client::Daemon daemon(daemon_place(call));
  client::ApprovalSelection selection{.statuses = call.arguments.values("--status"),
                                      .all = call.arguments.has("--all"),
                                      .project = scope.find_path(daemon)};
  std::vector<model::Approval> approvals;
  base::Value::Array wire;
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    client::ApprovalSelection one = selection;
    one.project = project;
    return client::list_approvals(daemon, one, most);
  };
  const auto project_of = [](const client::ApprovalRecord& record) { return record.approval.project; };
  Listed listed(call, scope.list_own_first(selection.project, limit + 1, list, project_of), limit);
  for (client::ApprovalRecord& record : listed) {
    approvals.push_back(std::move(record.approval));
    wire.push_back(std::move(record.wire));
  }
  scope.put_own_first(approvals);
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::approvals_table(approvals, call.out, now);
  add_more_sources(call, scope, Stopped::started, [&](Source& source) {
    std::vector<model::Approval> more;
    for (client::ApprovalRecord& record : client::list_approvals(source.daemon, selection, limit)) {
      more.push_back(std::move(record.approval));
      wire.push_back(mark_source(std::move(record.wire), source));
    }
    table.add_rows_of(view::approvals_table(more, call.out, now), source.prefix);
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
    const bool asked_for_pending = selection.statuses.empty() && !selection.all;
    print_aside("{}\n", asked_for_pending ? "nothing is waiting for you" : "no approvals");
    print_next(call, asked_for_pending ? "reeve approvals --all" : "reeve");
    return ExitCode::done;
  }
  fmt::print("{}", table.for_terminal(call.out));
  print_advice(call, approvals);
  if (approvals.empty()) return ExitCode::done;
  const auto pending = std::ranges::find(approvals, model::ApprovalStatus::pending, &model::Approval::status);
  const model::Approval& first = pending != approvals.end() ? *pending : approvals.front();
  print_next(call, fmt::format("reeve show {}", first.approval_id.text()));
  return ExitCode::done;
}

Command make(std::string_view name) {
  const auto& names = base::names_of<model::ApprovalStatus>();
  std::vector<std::string_view> statuses;
  std::ranges::transform(names, std::back_inserter(statuses), [](const auto& entry) { return entry.name; });
  return {
      .name = name,
      .summary = name == "approvals" ? "List pending approvals, oldest first" : "Alias for `reeve approvals`",
      .about =
          R"(Lists the questions of all projects; those of the current folder's project come first. Questions of a project
that keeps its own state are written `NAME/AP-4`, and can be answered by that name.

`--all` and every `--status` other than pending list the newest first. A question's default is marked with
a star; it is never chosen automatically. `advisory`: the tool runs without a sandbox, so nothing technically
prevents it from approving its own request.

When piped, each line has these tab-separated fields: id, status, asker, question, options, created, expires,
chosen value, decided by, `advisory`, path of the project.)",
      .examples = {{"reeve approvals", "what is waiting for you"},
                   {"reeve approvals --all --limit 200", "include decided ones"},
                   {"reeve approvals --status rejected --status expired", "rejected or expired"},
                   {"reeve approvals --json", "for a script"}},
      .positionals = {},
      .options = with_scope_options({{.name = "--all", .help = "include all statuses"},
                                     {.name = "--status",
                                      .value = "STATUS",
                                      .help = "only this status",
                                      .choices = std::move(statuses),
                                      .is_repeatable = true},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}}),
      .run = run,
  };
}

}  // namespace

void print_advice(const Call& call, const std::vector<model::Approval>& approvals) {
  const bool is_advisory = std::ranges::any_of(approvals, [](const model::Approval& approval) {
    return approval.advisory && approval.status == model::ApprovalStatus::pending;
  });
  if (!is_advisory || call.is_json) return;
  print_aside("{}\n",
              call.err.paint(view::Tint::dim, "advisory: without a sandbox, the tool could approve its own request"));
}

void print_port_problem(client::Daemon& daemon) {
  const client::PortHealth port = client::get_port_health(daemon);
  if (port.problem.empty()) return;
  print_aside("The daemon's port could not be opened: {}\n  = {}\n", base::visible(port.problem),
              base::visible(port.fix));
}

Command make_approvals() { return make("approvals"); }
Command make_approvals_list() { return make("approvals list"); }

}  // namespace reeve::cli
