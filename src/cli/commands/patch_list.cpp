#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "client/executions.h"
#include "client/patches.h"
#include "view/patch_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 50;

client::PatchSelection selection_of(const Call& call) {
  client::PatchSelection selection{.states = call.arguments.values("--status")};
  const std::string word = call.arguments.positional(0);
  if (word.empty()) return selection;
  selection.execution = base::ExecutionId::parse(word);
  if (!selection.execution) {
    throw base::Error(base::ErrorCode::cli_usage, fmt::format("{} is not a valid execution id", base::quoted(word)),
                      "ids look like EX-9");
  }
  return selection;
}

ExitCode run(const Call& call) {
  const std::size_t limit = limit_of(call, default_limit);
  const client::PatchSelection selection = selection_of(call);
  client::Daemon daemon(daemon_place(call));
  std::vector<model::Patch> patches;
  base::Value::Array wire;
  Listed listed(call, client::list_patches(daemon, selection, limit + 1), limit);
  for (client::PatchRecord& record : listed) {
    patches.push_back(std::move(record.patch));
    wire.push_back(std::move(record.wire));
  }
  // An empty list may mean that the execution does not exist, which the daemon reports.
  if (patches.empty() && selection.execution) {
    client::get_execution(daemon, *selection.execution, client::NodeText::brief);
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", view::patches_table(patches, call.out, {}).for_pipe());
    return ExitCode::done;
  }
  if (patches.empty()) {
    print_aside("no patches\n");
    return ExitCode::done;
  }
  fmt::print("{}", view::patches_table(patches, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
  print_next(call, fmt::format("reeve patch show {}", patches.front().patch_id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_patch_list() {
  const auto& names = base::names_of<model::PatchState>();
  std::vector<std::string_view> states;
  std::ranges::transform(names, std::back_inserter(states), [](const auto& entry) { return entry.name; });
  return {
      .name = "patch list",
      .summary = "List patches made by workflow nodes, newest first",
      .about =
          R"(Each node that changed files leaves a patch. It is `committed` once it is in your checkout, `rejected` if a
gate failed, `conflicted` if it conflicts with other changes, `quarantined` if its task failed.

When piped, each line has these tab-separated fields: id, state, execution, node, files, lines added, lines
removed, created, reason, path of the project.

Exit codes: 0 done, 3 no such execution.)",
      .examples = {{"reeve patch list", "the last 50"},
                   {"reeve patch list EX-9", "those of one execution"},
                   {"reeve patch list --status conflicted --status apply_failed", "what needs you"}},
      .positionals = {{.name = "EXECUTION", .help = "EX-9: only its patches", .is_required = false, .is_id = true}},
      .options = {{.name = "--status",
                   .value = "STATE",
                   .help = "only this state",
                   .choices = std::move(states),
                   .is_repeatable = true},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
