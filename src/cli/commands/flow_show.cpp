#include "cli/commands/flow_show.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/sources.h"
#include "client/patches.h"
#include "spec/pipeline_graph.h"
#include "view/approval_text.h"
#include "view/execution_text.h"
#include "view/patch_text.h"

namespace reeve::cli {

namespace {

std::string next_for(const view::ExecutionStory& story) {
  const std::string id = story.execution.execution_id.text();
  const auto asks = std::ranges::find(story.approvals, model::ApprovalStatus::pending, &model::Approval::status);
  if (asks != story.approvals.end()) return view::answer_command(*asks);
  if (spec::is_pipeline(story.execution.workflow_id)) return fmt::format("reeve pipeline show {}", id);
  // Without a failed node there is nothing to retry (GRF-14).
  const bool can_retry =
      story.execution.status == model::ExecutionStatus::failed &&
      std::ranges::count(story.execution.nodes, model::NodeStatus::failed, &model::NodeExecution::status) > 0;
  if (can_retry) return fmt::format("reeve flow retry {}", id);
  return fmt::format("reeve {} {}", model::is_over(story.execution.status) ? "flow graph" : "wait", id);
}

// Its patches, one line each.
std::vector<std::vector<std::string>> find_patches(client::Daemon& daemon, base::ExecutionId id) {
  constexpr std::size_t most = 1'000;
  std::vector<std::vector<std::string>> lines;
  for (const client::PatchRecord& record : client::list_patches(daemon, {.execution = id}, most)) {
    const model::Patch& patch = record.patch;
    lines.push_back(
        {patch.patch_id.text(), std::string(base::spell(patch.state)), patch.node_id, view::size_text(patch.files)});
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace

ExitCode show_execution(const Call& call, client::Daemon& daemon, base::ExecutionId id) {
  if (call.is_json) {
    base::Value record =
        call.arguments.has("--history") ? client::get_history(daemon, id).wire : client::get_execution(daemon, id).wire;
    print_json(call, mark_source(std::move(record), call, daemon));
    return ExitCode::done;
  }
  client::ExecutionHistory history = client::get_history(daemon, id);
  const view::ExecutionStory story{.execution = client::get_execution(daemon, id).execution,
                                   .iterations = std::move(history.iterations),
                                   .runs = std::move(history.runs),
                                   .approvals = std::move(history.approvals),
                                   .patches = find_patches(daemon, id)};
  if (!call.out_is_terminal) {
    fmt::print("{}", view::execution_details(story, call.out, {}));
    return ExitCode::done;
  }
  fmt::print("{}\n", view::execution_details(story, call.out, base::SystemClock().wall_now()));
  print_next(call, next_for(story));
  return ExitCode::done;
}

namespace {

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  return show_execution(call, daemon, find_execution(daemon, call.arguments.positional(0)));
}

}  // namespace

Command make_flow_show() {
  return {
      .name = "flow show",
      .summary = "Show one execution in full",
      .about =
          R"(Shows each node with its inputs and outputs, its attempts and loop rounds, its runs, and what was asked and
decided. When piped, each line starts with its kind (`execution`, `node`, `iteration`, `run`, `approval`,
`patch`), followed by tab-separated fields. The time next to a node is that of its latest attempt, without
the pause before it.

`workflow_id` is the `id` in the workflow file, `label` the name that was given to this start (`flow run
--label`, `run-graph --workflow-id`); labels need not be unique.

With `--json`, prints the record as the API returns it; with `--history` as well, prints earlier loop
rounds, runs, approvals and patches instead.

Exit codes: 0 done, 3 no such execution.)",
      .examples = {{"reeve flow show EX-9", ""},
                   {"reeve flow show @last --json", "the newest, for a script"},
                   {"reeve flow show EX-9 --json --history", "earlier rounds, runs, approvals, patches"}},
      .positionals = {{.name = "EX", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {{.name = "--history", .help = "with --json: print its history instead of its current state"}},
      .run = run,
  };
}

}  // namespace reeve::cli
