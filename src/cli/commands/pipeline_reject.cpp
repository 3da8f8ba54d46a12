#include "cli/commands.h"
#include "cli/commands/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineAction::reject); }

}  // namespace

Command make_pipeline_reject() {
  return {
      .name = "pipeline reject",
      .summary = "Reject the step that a pipeline is waiting at",
      .about = R"(The pipeline fails and cannot be retried. The comment is kept with the decision.

When piped, each line has these tab-separated fields: id, status.

Exit codes: 0 rejected; 3 no such pipeline; 4 not waiting at an approval step, or already decided.)",
      .examples = {{"reeve pipeline reject EX-9", ""},
                   {"reeve pipeline reject @last --comment \"too large\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment", .value = "TEXT", .help = "reason to keep with the decision"}},
      .run = run,
  };
}

}  // namespace reeve::cli
