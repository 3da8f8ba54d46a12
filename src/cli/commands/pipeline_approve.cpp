#include "cli/commands.h"
#include "cli/commands/pipeline_act.h"
#include "cli/live/confirm.h"

namespace reeve::cli {

namespace {

ExitCode run(const Call& call) { return act_on_pipeline(call, PipelineAction::approve); }

std::vector<Option> options() {
  std::vector<Option> all = confirmation_options();
  all.insert(
      all.begin(),
      {.name = "--comment", .value = "TEXT", .help = "comment to keep with the decision and pass to the next agent"});
  return all;
}

}  // namespace

Command make_pipeline_approve() {
  return {
      .name = "pipeline approve",
      .summary = "Approve the step that a pipeline is waiting at",
      .about =
          R"(The pipeline continues, and the next agent receives the comment. The first answer wins;
`reeve approve` with the id of the question does the same, and needs the same confirmation: `--yes` for medium
risk, `--confirm=ID` with the id of the question for high, or an answer at the terminal.

When piped, each line has these tab-separated fields: id, status.

Exit codes: 0 approved; 2 a confirmation is required; 3 no such pipeline; 4 not waiting at an approval step, or
already decided; 130 not confirmed.)",
      .examples = {{"reeve pipeline approve EX-9", ""},
                   {"reeve pipeline approve EX-9 --yes", "from a script"},
                   {"reeve pipeline approve @last --comment \"keep the old API\"", "say why"}},
      .positionals = pipeline_positionals(),
      .options = options(),
      .run = run,
  };
}

}  // namespace reeve::cli
