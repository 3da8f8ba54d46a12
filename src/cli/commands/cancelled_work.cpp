#include "cli/commands/cancelled_work.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/shown_id.h"
#include "client/approvals.h"
#include "client/refusal.h"
#include "view/approval_text.h"
#include "view/run_text.h"

namespace reeve::cli {

namespace {

// Subgraphs within subgraphs; deeper ones are ended as well, but not named.
constexpr int max_depth = 8;
constexpr std::size_t max_questions = 20;

bool is_pending(const model::Approval& approval) { return approval.status == model::ApprovalStatus::pending; }

}  // namespace

CancelledWork CancelledWork::find(client::Daemon& daemon, base::RunId id) {
  CancelledWork work;
  try {
    for (client::ApprovalRecord& record : client::list_approvals(daemon, {.run = id}, max_questions)) {
      if (is_pending(record.approval)) work.questions_.push_back(std::move(record.approval));
    }
  } catch (const client::Refusal&) {
    // A process inside a run may cancel its own run, but list nothing.
  }
  return work;
}

CancelledWork CancelledWork::find(client::Daemon& daemon, base::ExecutionId id) {
  CancelledWork work;
  try {
    work.collect(daemon, id, 0);
  } catch (const client::Refusal&) {
    // The cancel itself says what is wrong.
  }
  return work;
}

void CancelledWork::collect(client::Daemon& daemon, base::ExecutionId id, int depth) {
  client::ExecutionHistory history = client::get_history(daemon, id);
  for (model::Run& run : history.runs) {
    if (!model::is_final(run.status)) runs_.push_back(std::move(run));
  }
  for (model::Approval& approval : history.approvals) {
    if (is_pending(approval)) questions_.push_back(std::move(approval));
  }
  if (depth == max_depth) return;
  for (const model::NodeExecution& node : client::get_execution(daemon, id, client::NodeText::brief).execution.nodes) {
    if (node.child_execution_id && !model::is_over(node.status)) collect(daemon, *node.child_execution_id, depth + 1);
  }
}

void CancelledWork::print(const Call& call) const {
  for (const model::Run& run : runs_) {
    const std::string node = base::visible(run.node_id.value_or(""));
    const std::string command = base::visible(view::command_text(run.argv));
    if (call.out_is_terminal) {
      constexpr std::size_t columns = 60;
      fmt::print("  {} is being ended: {}{}\n", shown_id(call, run.tool_run_id.text()), node.empty() ? "" : node + ", ",
                 base::fit_width(command, columns, call.out.ascii));
    } else {
      fmt::print("{}\tending\t{}\t{}\n", shown_id(call, run.tool_run_id.text()), node, command);
    }
  }
  for (const model::Approval& question : questions_) {
    const std::string line = base::visible(view::question_line(question));
    if (call.out_is_terminal) {
      fmt::print("  {} no longer needs an answer: {}\n", shown_id(call, question.approval_id.text()), line);
    } else {
      fmt::print("{}\tclosed\t{}\t{}\n", shown_id(call, question.approval_id.text()),
                 base::visible(question.node_id.value_or("")), line);
    }
  }
}

}  // namespace reeve::cli
