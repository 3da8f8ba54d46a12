#include "cli/commands.h"
#include "cli/commands/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineAction::abort); }

}  // namespace

Command make_pipeline_abort() {
  return {
      .name = "pipeline abort",
      .summary = "Abort a pipeline and everything it runs",
      .about =
          R"(Nothing more is started; running tools are ended with their whole process trees, and pending questions no
longer need an answer. Other pipelines continue. The record says who aborted it and why.

When piped, each line has these tab-separated fields: id, status.

Exit codes: 0 aborted; 3 no such pipeline; 4 it has already ended.)",
      .examples = {{"reeve pipeline abort EX-9", ""},
                   {"reeve pipeline abort @last --comment \"wrong branch\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment", .value = "TEXT", .help = "reason to record"}},
      .run = run,
  };
}

}  // namespace reeve::cli
