#include "cli/live/flow_watch.h"

#include <chrono>

#include <fmt/format.h>

#include "client/approvals.h"
#include "client/refusal.h"
#include "json/fields.h"
#include "view/approval_text.h"
#include "view/run_text.h"

namespace reeve::cli {

using base::Value;

FlowWatch::FlowWatch(client::Daemon& daemon, model::Execution execution) : daemon_(daemon) {
  workflows_.emplace(execution.execution_id, nullptr);
  picture_.execution = std::move(execution);
}

bool FlowWatch::take(const Value& event) {
  const auto execution = json::id_of<base::ExecutionId>(event, "execution_id");
  if (!execution) return false;
  const auto parent = json::id_of<base::ExecutionId>(event, "parent_execution_id");
  if (parent && workflows_.contains(*parent)) workflows_.try_emplace(*execution, nullptr);
  if (!workflows_.contains(*execution)) return false;
  const auto approval = json::id_of<base::ApprovalId>(event, "approval_id");
  const std::string kind = json::text_of(event, "event");
  if (approval && kind == "approval_needed") {
    questions_.insert_or_assign(*approval, client::get_approval(daemon_, *approval).approval);
  } else if (approval && kind == "approval_status_change") {
    questions_.erase(*approval);
  }
  return true;
}

void FlowWatch::refresh() {
  refresh(picture_);
  note_questions(picture_);
}

void FlowWatch::find_questions() {
  constexpr std::size_t most = 1'000;
  for (const client::ApprovalRecord& record : client::list_approvals(daemon_, {}, most)) {
    const model::Approval& approval = record.approval;
    const bool is_its = approval.execution_id && workflows_.contains(*approval.execution_id);
    if (is_its) questions_.insert_or_assign(approval.approval_id, approval);
  }
  note_questions(picture_);
}

void FlowWatch::refresh(view::FlowPicture& picture) {
  const base::ExecutionId id = picture.execution.execution_id;
  picture.execution = client::get_execution(daemon_, id, client::NodeText::brief).execution;
  auto& workflow = workflows_[id];
  if (!workflow) workflow = std::make_shared<const model::Workflow>(client::get_workflow(daemon_, id).workflow);
  picture.workflow = workflow;
  for (const model::NodeExecution& node : picture.execution.nodes) {
    if (!node.child_execution_id) {
      picture.children.erase(node.node_id);
      continue;
    }
    view::FlowPicture& child = picture.children[node.node_id];
    const bool is_known = child.execution.execution_id == *node.child_execution_id && child.workflow;
    // An ended subgraph does not change.
    if (is_known && model::is_over(child.execution.status) && model::is_over(node.status)) continue;
    child.execution.execution_id = *node.child_execution_id;
    refresh(child);
  }
}

void FlowWatch::refresh_progress() {
  constexpr int max_asked = 8;
  int budget = max_asked;
  refresh_progress(picture_, budget);
  note_questions(picture_);
}

void FlowWatch::refresh_progress(view::FlowPicture& picture, int& budget) {
  for (const model::NodeExecution& node : picture.execution.nodes) {
    const bool is_at_work = node.status == model::NodeStatus::running && node.tool_run_id;
    if (!is_at_work || budget == 0) continue;
    --budget;
    const model::Run run = client::get_run(daemon_, *node.tool_run_id).run;
    const bool is_told = run.status == model::RunStatus::stalled || run.progress;
    progress_[run.tool_run_id] = is_told ? view::run_note(run, base::SystemClock().wall_now()) : std::string();
  }
  for (auto& [_, child] : picture.children) refresh_progress(child, budget);
}

void FlowWatch::note_questions(view::FlowPicture& picture) {
  picture.notes.clear();
  for (const model::NodeExecution& node : picture.execution.nodes) {
    if (!node.tool_run_id || node.status != model::NodeStatus::running) continue;
    const auto said = progress_.find(*node.tool_run_id);
    if (said != progress_.end() && !said->second.empty()) picture.notes.emplace(node.node_id, said->second);
  }
  for (const auto& [id, approval] : questions_) {
    if (approval.execution_id != picture.execution.execution_id || !approval.node_id) continue;
    // The question of a human node is its title.
    std::string note = approval.tool_run_id ? fmt::format("{} asks: {}", id.text(), view::question_line(approval))
                                            : fmt::format("waiting for you: {}", id.text());
    picture.notes.insert_or_assign(*approval.node_id, std::move(note));
  }
  for (auto& [_, child] : picture.children) note_questions(child);
}

}  // namespace reeve::cli
