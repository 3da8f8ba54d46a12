#include "wire/pipeline_record.h"

#include <algorithm>

namespace reeve::wire {

namespace {

using base::Value;
using model::ExecutionStatus;
using model::NodeStatus;
using model::PipelineStatus;
using model::StepStatus;

// A step that never started is neither completed nor failed, whatever the pipeline's status.
StepStatus step_status(const model::NodeExecution& node) {
  switch (node.status) {
    case NodeStatus::pending:
    case NodeStatus::ready:
    case NodeStatus::skipped:
      return StepStatus::pending;
    case NodeStatus::running:
    case NodeStatus::waiting_approval:
      return StepStatus::running;
    case NodeStatus::completed:
      return StepStatus::done;
    case NodeStatus::failed:
      return StepStatus::failed;
    case NodeStatus::cancelled:
      return node.started_at ? StepStatus::failed : StepStatus::pending;
  }
  return StepStatus::pending;
}

std::optional<std::string> find_text(const std::optional<Value>& outputs, std::string_view key) {
  const Value* found = outputs ? outputs->find(key) : nullptr;
  return found != nullptr && found->as_string() != nullptr ? std::optional(*found->as_string()) : std::nullopt;
}

PipelineStepRecord make_step(const model::Node& words, const model::NodeExecution& node) {
  PipelineStepRecord step;
  step.step_id = words.id;
  step.type = words.human_config ? model::StepType::approval : model::StepType::agent;
  if (!words.human_config) step.agent_name = words.label;
  step.description = words.description;
  step.status = step_status(node);
  step.tool_run_id = node.tool_run_id;
  step.approval_id = node.approval_id;
  step.error = node.error;
  step.started_at = node.started_at;
  step.completed_at = node.completed_at;
  // The text output of an approval node is forwarded from another node.
  if (!words.human_config) {
    step.output = find_text(node.outputs, "text");
  } else if (step.status != StepStatus::running) {
    step.comment = find_text(node.outputs, "comment");
    step.decided_by = find_text(node.outputs, "decided_by");
  }
  return step;
}

}  // namespace

PipelineStatus pipeline_status(ExecutionStatus status) noexcept {
  switch (status) {
    case ExecutionStatus::running:
      return PipelineStatus::running;
    case ExecutionStatus::waiting_approval:
      return PipelineStatus::waiting_for_approval;
    case ExecutionStatus::completed:
      return PipelineStatus::done;
    case ExecutionStatus::failed:
      return PipelineStatus::failed;
    case ExecutionStatus::cancelled:
      return PipelineStatus::aborted;
  }
  return PipelineStatus::failed;
}

ExecutionStatus execution_status(PipelineStatus status) noexcept {
  switch (status) {
    case PipelineStatus::running:
      return ExecutionStatus::running;
    case PipelineStatus::waiting_for_approval:
      return ExecutionStatus::waiting_approval;
    case PipelineStatus::done:
      return ExecutionStatus::completed;
    case PipelineStatus::failed:
      return ExecutionStatus::failed;
    case PipelineStatus::aborted:
      return ExecutionStatus::cancelled;
  }
  return ExecutionStatus::failed;
}

PipelineRecord make_pipeline_summary(const model::Execution& execution) {
  PipelineRecord record;
  record.pipeline_id = execution.execution_id;
  record.pipeline = execution.workflow_name;
  record.status = pipeline_status(execution.status);
  record.reason = execution.reason;
  record.started_at = execution.started_at;
  record.completed_at = execution.completed_at;
  return record;
}

PipelineRecord make_pipeline_record(const model::Execution& execution, const model::Workflow& workflow) {
  PipelineRecord record = make_pipeline_summary(execution);
  record.prompt = find_text(execution.inputs, "prompt");
  Value inputs = execution.inputs.value_or(Value::object());
  if (inputs.as_object() == nullptr) inputs = Value::object();
  std::erase_if(*inputs.as_object(), [](const base::Member& member) { return member.key == "prompt"; });
  record.inputs = std::move(inputs);
  for (const model::Node& words : workflow.nodes) {
    const auto node = std::ranges::find(execution.nodes, words.id, &model::NodeExecution::node_id);
    if (node == execution.nodes.end()) continue;
    record.steps.push_back(make_step(words, *node));
    const bool asks = words.human_config && node->status == NodeStatus::waiting_approval;
    if (asks) record.approval_id = node->approval_id;
  }
  return record;
}

}  // namespace reeve::wire
