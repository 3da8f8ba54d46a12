#include "cli/commands.h"
#include "cli/pipeline_act.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineDeed::abort); }

}  // namespace

Command make_pipeline_abort() {
  return {
      .name = "pipeline abort",
      .summary = "End a pipeline and what it runs",
      .about =
          R"(Nothing of it is started any more; what runs is ended with its whole tree of processes, what it asks needs no
answer. Other pipelines go on. The record says who and why.

In a pipe a line has, separated by a tab: id, status.

Exit codes: 0 aborted; 3 no such pipeline; 4 it is over already.)",
      .examples = {{"reeve pipeline abort EX-9", ""},
                   {"reeve pipeline abort @last --comment \"wrong branch\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = {{.name = "--comment", .value = "TEXT", .help = "why, for the record"}},
      .run = run,
  };
}

}  // namespace reeve::cli
