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

// One run of a pipeline as S5 names things (PIP-2). Beneath it is an execution like any other.
namespace reeve::wire {

struct PipelineStepRecord {
  // Its node: "step-1".
  std::string step_id;
  model::StepType type = model::StepType::agent;
  // Nothing for an approval step.
  std::optional<std::string> agent_name;
  std::optional<std::string> description;
  model::StepStatus status = model::StepStatus::pending;
  std::optional<base::RunId> tool_run_id;
  std::optional<base::ApprovalId> approval_id;
  // Of an agent: the end of what it said.
  std::optional<std::string> output;
  // Of an approval that was decided.
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  std::optional<std::string> error;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
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
  // The question of the approval step that it waits at.
  std::optional<base::ApprovalId> approval_id;
  base::WallTime started_at;
  std::optional<base::WallTime> completed_at;
  std::vector<PipelineStepRecord> steps;
};
BOOST_DESCRIBE_STRUCT(PipelineRecord, (),
                      (pipeline_id, pipeline, status, reason, prompt, inputs, approval_id, started_at, completed_at,
                       steps))

model::PipelineStatus pipeline_status(model::ExecutionStatus status) noexcept;
// Which executions have that status.
model::ExecutionStatus execution_status(model::PipelineStatus status) noexcept;

// Without steps, prompt and inputs.
PipelineRecord make_pipeline_summary(const model::Execution& execution);
// `workflow` is what it goes by.
PipelineRecord make_pipeline_record(const model::Execution& execution, const model::Workflow& workflow);

}  // namespace reeve::wire
