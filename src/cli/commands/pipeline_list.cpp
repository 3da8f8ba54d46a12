#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/listed.h"
#include "cli/live/flow_start.h"
#include "cli/scope.h"
#include "cli/sources.h"
#include "client/pipelines.h"
#include "json/describe.h"
#include "project/pipelines.h"
#include "view/pipeline_text.h"

namespace reeve::cli {

namespace {

constexpr std::size_t default_limit = 20;

ExitCode list_defined(const Call& call) {
  const auto pipelines = project::load_pipelines(find_project_folder("."), nullptr);
  if (!pipelines) {
    return refuse(call, base::ErrorCode::pipeline_invalid, "the pipelines are not valid", pipelines.error(),
                  "Nothing was listed.");
  }
  if (call.is_json) {
    base::Value::Array records;
    for (const auto& [name, pipeline] : pipelines->pipelines) {
      base::Value record = base::Value::object();
      record.set("pipeline", base::Value::string(name));
      record.set("description", json::to_value(pipeline.description));
      record.set("steps", json::to_value(pipeline.steps));
      records.push_back(std::move(record));
    }
    print_json(call, base::Value::array(std::move(records)));
    return ExitCode::done;
  }
  const view::Table table = view::pipeline_definitions(*pipelines);
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
  if (call.out_is_terminal && !pipelines->pipelines.empty()) {
    print_next(call, fmt::format("reeve pipeline start {} --prompt \"...\"", pipelines->pipelines.begin()->first));
  }
  return ExitCode::done;
}

// Pipelines that wait for a person come first (UX).
void by_attention(std::vector<wire::PipelineRecord>& pipelines) {
  std::ranges::sort(pipelines, {}, [](const wire::PipelineRecord& pipeline) {
    const bool waits = pipeline.status == model::PipelineStatus::waiting_for_approval;
    return std::pair(waits ? 0 : 1, -pipeline.pipeline_id.number());
  });
}

ExitCode run(const Call& call) {
  const Scope scope(call);
  if (call.arguments.has("--defined")) {
    if (!scope.is_limited()) return list_defined(call);
    throw base::Error(base::ErrorCode::cli_usage, "`--defined` lists the pipelines of the current folder",
                      "leave out `--here` and `--project`");
  }
  const std::size_t limit = limit_of(call, default_limit);
  client::Daemon daemon(daemon_place(call));
  const client::PipelineSelection selection{.statuses = call.arguments.values("--status"),
                                            .pipeline = call.arguments.value("--pipeline"),
                                            .project = scope.find_path(daemon)};
  const auto list = [&](const std::optional<std::string>& project, std::size_t most) {
    client::PipelineSelection one = selection;
    one.project = project;
    return client::list_pipelines(daemon, one, most);
  };
  std::vector<wire::PipelineRecord> pipelines;
  base::Value::Array wire;
  Listed listed(call, scope.list_of(selection.project, limit + 1, list), limit);
  for (client::PipelineRecord& record : listed) {
    pipelines.push_back(std::move(record.pipeline));
    wire.push_back(std::move(record.wire));
  }
  if (call.out_is_terminal) by_attention(pipelines);
  const auto now = call.out_is_terminal ? std::optional(base::SystemClock().wall_now()) : std::nullopt;
  view::Table table = view::pipelines_table(pipelines, call.out, now);
  add_more_sources(call, scope, Stopped::named, [&](Source& source) {
    std::vector<wire::PipelineRecord> more;
    for (client::PipelineRecord& record : client::list_pipelines(source.daemon, selection, limit)) {
      more.push_back(std::move(record.pipeline));
      wire.push_back(mark_source(std::move(record.wire), source));
    }
    if (call.out_is_terminal) by_attention(more);
    table.add_rows_of(view::pipelines_table(more, call.out, now), source.prefix);
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
    print_aside("no pipelines have been started{}\n", scope.is_limited() ? " in this project" : "");
    print_next(call, "reeve pipeline list --defined");
    return ExitCode::done;
  }
  fmt::print("{}", table.for_terminal(call.out));
  if (pipelines.empty()) return ExitCode::done;
  print_next(call, fmt::format("reeve pipeline show {}", pipelines.front().pipeline_id.text()));
  return ExitCode::done;
}

}  // namespace

Command make_pipeline_list() {
  std::vector<std::string_view> statuses;
  std::ranges::transform(base::names_of<model::PipelineStatus>(), std::back_inserter(statuses),
                         [](const auto& entry) { return entry.name; });
  return {
      .name = "pipeline list",
      .summary = "List started pipelines, newest first",
      .about =
          R"(Pipelines that are waiting for you come first. `--defined` instead lists the pipelines that can be started,
those of `.reeve/pipelines.yaml`, with their steps.

When piped, each line has these tab-separated fields: id, status, pipeline, start, duration in milliseconds,
reason; with `--defined`: name, steps, description.)",
      .examples = {{"reeve pipeline list", "the last 20"},
                   {"reeve pipeline list --status waiting_for_approval", "what is waiting"},
                   {"reeve pipeline list --defined", "what can be started"}},
      .positionals = {},
      .options = with_scope_options(
          {{.name = "--defined", .help = "list the pipelines of .reeve/pipelines.yaml, started or not"},
           {.name = "--status",
            .value = "STATUS",
            .help = "only this status",
            .choices = std::move(statuses),
            .is_repeatable = true},
           {.name = "--pipeline", .value = "NAME", .help = "only this pipeline"},
           {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}}),
      .run = run,
  };
}

}  // namespace reeve::cli
