#include "cli/commands.h"
#include "cli/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineDeed::approve); }

}  // namespace

Command make_pipeline_approve() {
  return {
      .name = "pipeline approve",
      .summary = "Say yes at the approval step that a pipeline waits at",
      .about = R"(The pipeline goes on; the next agent is told the comment. The first answer counts, whoever gives it:
`reeve approve` with the id of the question is the same.

In a pipe a line has, separated by a tab: id, status.

Exit codes: 0 approved; 3 no such pipeline; 4 it waits at no approval step, or somebody was faster.)",
      .examples = {{"reeve pipeline approve EX-9", ""},
                   {"reeve pipeline approve @last --comment \"keep the old API\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment", .value = "TEXT", .help = "kept with the decision; the next agent is told it"}},
      .run = run,
  };
}

}  // namespace reeve::cli
