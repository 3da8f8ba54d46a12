#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/scope.h"
#include "cli/sources.h"
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
  const Scope scope(call);
  client::PatchSelection selection = selection_of(call);
  if (selection.execution && scope.is_limited()) {
    throw base::Error(base::ErrorCode::cli_usage, "an execution belongs to one project",
                      "leave out `--here` and `--project`");
  }
  client::Daemon daemon(daemon_place(call));
  if (!selection.execution) selection.project = scope.find_path(daemon);
  std::vector<model::Patch> patches;
  base::Value::Array wire;
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    client::PatchSelection one = selection;
    one.project = project;
    return client::list_patches(daemon, one, most);
  };
  Listed listed(call, scope.list_of(selection.project, limit + 1, list), limit);
  for (client::PatchRecord& record : listed) {
    patches.push_back(std::move(record.patch));
    wire.push_back(mark_source(std::move(record.wire), call, daemon));
  }
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::patches_table(patches, call.out, now);
  if (!selection.execution) {
    add_more_sources(call, scope, Stopped::named, [&](Source& source) {
      std::vector<model::Patch> more;
      for (client::PatchRecord& record : client::list_patches(source.daemon, {.states = selection.states}, limit)) {
        more.push_back(std::move(record.patch));
        wire.push_back(mark_source(std::move(record.wire), source));
      }
      table.add_rows_of(view::patches_table(more, call.out, now), source.prefix);
    });
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
    fmt::print("{}", table.for_pipe());
    return ExitCode::done;
  }
  if (table.is_empty()) {
    print_aside("no patches{}\n", scope.is_limited() ? " in this project" : "");
    return ExitCode::done;
  }
  fmt::print("{}", table.for_terminal(call.out));
  if (patches.empty()) return ExitCode::done;
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
                   {"reeve patch list --here", "only the project of the current folder"},
                   {"reeve patch list --status conflicted --status apply_failed", "what needs you"}},
      .positionals = {{.name = "EXECUTION", .help = "EX-9: only its patches", .is_required = false, .is_id = true}},
      .options = with_scope_options({{.name = "--status",
                                      .value = "STATE",
                                      .help = "only this state",
                                      .choices = std::move(states),
                                      .is_repeatable = true},
                                     {.name = "--limit", .value = "N", .help = "maximum number to list (default 50)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
