#include "cli/commands/pipeline_act.h"

#include <fmt/format.h>

#include "cli/answer.h"
#include "cli/connect.h"
#include "cli/live/confirm.h"
#include "cli/shown_id.h"
#include "client/refusal.h"
#include "view/pipeline_text.h"

namespace reeve::cli {

namespace {

// The question at which the pipeline waits; nothing if it waits at none.
std::optional<model::Approval> find_question(client::Daemon& daemon, base::ExecutionId id) {
  try {
    const auto waiting = client::get_pipeline(daemon, id).pipeline.approval_id;
    return waiting ? std::optional(client::get_approval(daemon, *waiting).approval) : std::nullopt;
  } catch (const client::Refusal& refusal) {
    // A caller that may not read may not decide either; the decision itself reports that.
    if (!refusal.is(base::ErrorCode::api_inside_run)) throw;
    return std::nullopt;
  }
}

// Approves the question as it was shown. Without one, the daemon says why the pipeline cannot be approved.
client::PipelineRecord approve(const Call& call, client::Daemon& daemon, base::ExecutionId id,
                               const std::optional<std::string>& comment) {
  const auto shown = find_question(daemon, id);
  if (!shown) return client::decide_pipeline(daemon, id, client::Verdict::Word::approve, comment);
  const client::Verdict verdict{.comment = comment};
  if (shown->status == model::ApprovalStatus::pending) confirm(call, read_confirmation(call), *shown, verdict);
  client::decide_shown(daemon, *shown, verdict);
  return client::get_pipeline(daemon, id);
}

}  // namespace

ExitCode act_on_pipeline(const Call& call, PipelineAction action) {
  client::Daemon daemon(daemon_place(call));
  const base::ExecutionId id = find_pipeline(daemon, call.arguments.positional(0));
  const auto comment = call.arguments.value("--comment");
  client::PipelineRecord record;
  switch (action) {
    case PipelineAction::approve:
      record = approve(call, daemon, id, comment);
      break;
    case PipelineAction::reject:
      record = client::decide_pipeline(daemon, id, client::Verdict::Word::reject, comment);
      break;
    case PipelineAction::abort:
      record = client::abort_pipeline(daemon, id, comment);
      break;
  }
  if (call.is_json) {
    print_json(call, record.wire);
  } else if (!call.out_is_terminal) {
    fmt::print("{}\t{}\n", shown_id(call, id.text()), base::spell(record.pipeline.status));
  } else {
    fmt::print("{} {}\n", shown_id(call, id.text()), view::status_text(record.pipeline.status, call.out));
    print_next(call, fmt::format("reeve pipeline show {}", id.text()));
  }
  return ExitCode::done;
}

std::vector<Positional> pipeline_positionals() {
  return {{.name = "ID", .help = "EX-9, or @last for the newest", .is_id = true}};
}

}  // namespace reeve::cli
