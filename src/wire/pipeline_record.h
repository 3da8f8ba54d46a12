#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/execution.h"
#include "model/pipeline.h"

// A pipeline run in the vocabulary of S5 (PIP-2). Underneath it is an ordinary execution.
namespace reeve::wire {

struct PipelineStepRecord {
  // The node id: "step-1".
  std::string step_id;
  model::StepType type = model::StepType::agent;
  // Empty for an approval step.
  std::optional<std::string> agent_name;
  std::optional<std::string> description;
  model::StepStatus status = model::StepStatus::pending;
  std::optional<base::RunId> tool_run_id;
  std::optional<base::ApprovalId> approval_id;
  // Agent steps only: the end of the agent's output.
  std::optional<std::string> output;
  // Approval steps that were decided only.
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  std::optional<std::string> error;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
  friend bool operator==(const PipelineStepRecord&, const PipelineStepRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineStepRecord, (),
                      (step_id, type, agent_name, description, status, tool_run_id, approval_id, output, comment,
                       decided_by, error, started_at, completed_at))

struct PipelineRecord {
  base::ExecutionId pipeline_id{0};
  // Its name in `pipelines.yaml`.
  std::string pipeline;
  model::PipelineStatus status = model::PipelineStatus::running;
  std::optional<std::string> reason;
  std::optional<std::string> prompt;
  std::optional<base::Value> inputs;
  // The pending approval, while the pipeline waits at an approval step.
  std::optional<base::ApprovalId> approval_id;
  base::WallTime started_at;
  std::optional<base::WallTime> completed_at;
  std::vector<PipelineStepRecord> steps;
  friend bool operator==(const PipelineRecord&, const PipelineRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineRecord, (),
                      (pipeline_id, pipeline, status, reason, prompt, inputs, approval_id, started_at, completed_at,
                       steps))

model::PipelineStatus pipeline_status(model::ExecutionStatus status) noexcept;
// The execution status that corresponds to `status`.
model::ExecutionStatus execution_status(model::PipelineStatus status) noexcept;

// Without steps, prompt and inputs.
PipelineRecord make_pipeline_summary(const model::Execution& execution);
// `workflow` is the workflow of the execution.
PipelineRecord make_pipeline_record(const model::Execution& execution, const model::Workflow& workflow);

}  // namespace reeve::wire
