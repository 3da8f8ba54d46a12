#include "cli/commands.h"
#include "cli/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineDeed::reject); }

}  // namespace

Command make_pipeline_reject() {
  return {
      .name = "pipeline reject",
      .summary = "Say no at the approval step that a pipeline waits at",
      .about = R"(The pipeline has failed, for good: it cannot be tried again. The comment is kept with the decision.

In a pipe a line has, separated by a tab: id, status.

Exit codes: 0 rejected; 3 no such pipeline; 4 it waits at no approval step, or somebody was faster.)",
      .examples = {{"reeve pipeline reject EX-9", ""},
                   {"reeve pipeline reject @last --comment \"too large\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment", .value = "TEXT", .help = "why, kept with the decision"}},
      .run = run,
  };
}

}  // namespace reeve::cli
