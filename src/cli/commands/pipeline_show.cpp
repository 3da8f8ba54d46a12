#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/pipelines.h"
#include "view/pipeline_text.h"

namespace reeve::cli {

namespace {

std::string next_for(const wire::PipelineRecord& pipeline) {
  const std::string id = pipeline.pipeline_id.text();
  if (pipeline.approval_id) return fmt::format("reeve pipeline approve {}", id);
  if (pipeline.status == model::PipelineStatus::waiting_for_approval) return "reeve approvals";
  const bool is_over = pipeline.status != model::PipelineStatus::running;
  return is_over ? fmt::format("reeve flow show {}", id) : fmt::format("reeve wait {}", id);
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const auto record = client::get_pipeline(daemon, find_pipeline(daemon, call.arguments.positional(0)));
  if (call.is_json) {
    print_json(call, record.wire);
  } else if (!call.out_is_terminal) {
    fmt::print("{}", view::pipeline_details(record.pipeline, call.out, {}));
  } else {
    fmt::print("{}\n", view::pipeline_details(record.pipeline, call.out, base::SystemClock().wall_now()));
    print_next(call, next_for(record.pipeline));
  }
  return ExitCode::done;
}

}  // namespace

Command make_pipeline_show() {
  return {
      .name = "pipeline show",
      .summary = "Show one pipeline and its steps",
      .about =
          R"(Shows each step with its status (pending, running, done, failed; running also while it asks), the last
output of its agent, and the approver's comment. When piped, each line starts with `pipeline` or `step`;
a step has these tab-separated fields: id, type, agent, status, run or approval, duration in
milliseconds, description, error, comment, decided by, output.

`reeve flow show` shows the same execution with its attempts, runs and inputs.

Exit codes: 0 done, 3 no such pipeline.)",
      .examples = {{"reeve pipeline show EX-9", ""}, {"reeve pipeline show @last --json", "the newest, for a script"}},
      .positionals = {{.name = "ID", .help = "EX-9, or @last for the newest", .is_id = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
