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
      .summary = "One pipeline and its steps",
      .about = R"(Each step with its status (pending, running, done, failed; running also while it asks), what its agent
said last, and what a person said to it. In a pipe a line begins with `pipeline` or `step`; a step has,
separated by tabs: id, type, agent, status, run or approval, milliseconds it took, description, error, comment,
who decided, output.

The same execution as `reeve flow show` has it tells more: attempts, runs, what went in.

Exit codes: 0 done, 3 no such pipeline.)",
      .examples = {{"reeve pipeline show EX-9", ""}, {"reeve pipeline show @last --json", "the newest, for a script"}},
      .positionals = {{.name = "ID", .help = "EX-9, or @last for the newest"}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
