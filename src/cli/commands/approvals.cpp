#include "client/approvals.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/advice.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "view/approval_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 50;

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  client::Daemon daemon(daemon_place(call));
  const client::ApprovalSelection selection{.statuses = call.arguments.values("--status"),
                                            .all = call.arguments.has("--all")};
  std::vector<model::Approval> approvals;
  base::Value::Array wire;
  Listed listed(call, client::list_approvals(daemon, selection, limit + 1), limit);
  for (client::ApprovalRecord& record : listed) {
    approvals.push_back(std::move(record.approval));
    wire.push_back(std::move(record.wire));
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", view::approvals_table(approvals, call.out, {}).for_pipe());
    return ExitCode::done;
  }
  if (approvals.empty()) {
    const bool asked_for_pending = selection.statuses.empty() && !selection.all;
    print_aside("{}\n", asked_for_pending ? "nothing is waiting for you" : "no approvals");
    print_next(call, asked_for_pending ? "reeve approvals --all" : "reeve");
    return ExitCode::done;
  }
  fmt::print("{}", view::approvals_table(approvals, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
  print_advice(call, approvals);
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
          R"(`--all` and every `--status` other than pending list the newest first. A question's default is marked with
a star; it is never chosen automatically. `advisory`: the tool runs without a sandbox, so nothing technically
prevents it from approving its own request.

When piped, each line has these tab-separated fields: id, status, asker, question, options, created, expires,
chosen value, decided by, `advisory`.)",
      .examples = {{"reeve approvals", "what is waiting for you"},
                   {"reeve approvals --all --limit 200", "include decided ones"},
                   {"reeve approvals --status rejected --status expired", "rejected or expired"},
                   {"reeve approvals --json", "for a script"}},
      .positionals = {},
      .options = {{.name = "--all", .help = "include all statuses"},
                  {.name = "--status",
                   .value = "STATUS",
                   .help = "only this status",
                   .choices = std::move(statuses),
                   .is_repeatable = true},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}},
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

Command make_approvals() { return make("approvals"); }
Command make_approvals_list() { return make("approvals list"); }

}  // namespace reeve::cli
