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

ExitCode run(const Call& call) {
  if (call.arguments.has("--defined")) return list_defined(call);
  const std::size_t limit = limit_of(call, default_limit);
  client::Daemon daemon(daemon_place(call));
  const client::PipelineSelection selection{.statuses = call.arguments.values("--status"),
                                            .pipeline = call.arguments.value("--pipeline")};
  std::vector<wire::PipelineRecord> pipelines;
  base::Value::Array wire;
  Listed listed(call, client::list_pipelines(daemon, selection, limit + 1), limit);
  for (client::PipelineRecord& record : listed) {
    pipelines.push_back(std::move(record.pipeline));
    wire.push_back(std::move(record.wire));
  }
  if (call.is_json) {
    print_json(call, base::Value::array(std::move(wire)));
    return ExitCode::done;
  }
  if (!call.out_is_terminal) {
    fmt::print("{}", view::pipelines_table(pipelines, call.out, {}).for_pipe());
    return ExitCode::done;
  }
  if (pipelines.empty()) {
    print_aside("no pipelines have been started\n");
    print_next(call, "reeve pipeline list --defined");
    return ExitCode::done;
  }
  // Pipelines that wait for a person come first (UX).
  std::ranges::sort(pipelines, {}, [](const wire::PipelineRecord& pipeline) {
    const bool waits = pipeline.status == model::PipelineStatus::waiting_for_approval;
    return std::pair(waits ? 0 : 1, -pipeline.pipeline_id.number());
  });
  fmt::print("{}", view::pipelines_table(pipelines, call.out, base::SystemClock().wall_now()).for_terminal(call.out));
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
      .options = {{.name = "--defined", .help = "list the pipelines of .reeve/pipelines.yaml, started or not"},
                  {.name = "--status",
                   .value = "STATUS",
                   .help = "only this status",
                   .choices = std::move(statuses),
                   .is_repeatable = true},
                  {.name = "--pipeline", .value = "NAME", .help = "only this pipeline"},
                  {.name = "--limit", .value = "N", .help = "maximum number to list (default 20)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
