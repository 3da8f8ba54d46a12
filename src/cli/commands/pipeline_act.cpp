#include "cli/commands/pipeline_act.h"

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/connect.h"
#include "view/pipeline_text.h"

namespace reeve::cli {

ExitCode act_on_pipeline(const Call& call, PipelineAction action) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_pipeline(daemon, call.arguments.positional(0));
  const auto comment = call.arguments.value("--comment");
  const auto word = action == PipelineAction::approve ? client::Verdict::Word::approve : client::Verdict::Word::reject;
  const auto record = action == PipelineAction::abort ? client::abort_pipeline(daemon, id, comment)
                                                      : client::decide_pipeline(daemon, id, word, comment);
  if (call.is_json) {
    print_json(call, record.wire);
  } else if (!call.out_is_terminal) {
    fmt::print("{}\t{}\n", id.text(), base::spell(record.pipeline.status));
  } else {
    fmt::print("{} {}\n", id.text(), view::status_text(record.pipeline.status, call.out));
    print_next(call, fmt::format("reeve pipeline show {}", id.text()));
  }
  return ExitCode::done;
}

std::vector<Positional> pipeline_positionals() {
  return {{.name = "ID", .help = "EX-9, or @last for the newest", .is_id = true}};
}

}  // namespace reeve::cli
