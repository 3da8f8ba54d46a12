#include "cli/commands.h"
#include "cli/commands/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineAction::approve); }

}  // namespace

Command make_pipeline_approve() {
  return {
      .name = "pipeline approve",
      .summary = "Approve the step that a pipeline is waiting at",
      .about =
          R"(The pipeline continues, and the next agent receives the comment. The first answer wins;
`reeve approve` with the id of the question does the same.

When piped, each line has these tab-separated fields: id, status.

Exit codes: 0 approved; 3 no such pipeline; 4 not waiting at an approval step, or already decided.)",
      .examples = {{"reeve pipeline approve EX-9", ""},
                   {"reeve pipeline approve @last --comment \"keep the old API\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment",
                   .value = "TEXT",
                   .help = "comment to keep with the decision and pass to the next agent"}},
      .run = run,
  };
}

}  // namespace reeve::cli
