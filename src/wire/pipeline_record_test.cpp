#include "wire/pipeline_record.h"

#include <gtest/gtest.h>

// A pipeline in the vocabulary of S5 (PIP-2).
namespace reeve::wire {
namespace {

using base::Value;
using model::NodeStatus;
using model::StepStatus;

StepStatus step_of(NodeStatus status, bool has_begun) {
  model::Workflow workflow;
  workflow.nodes.emplace_back().id = "step-1";
  model::Execution execution;
  model::NodeExecution& node = execution.nodes.emplace_back();
  node.node_id = "step-1";
  node.status = status;
  if (has_begun) node.started_at = base::WallTime();
  return make_pipeline_record(execution, workflow).steps.at(0).status;
}

TEST(PipelineRecord, pipeline_and_execution_statuses_map_both_ways) {
  for (const auto& [status, _] : base::names_of<model::PipelineStatus>()) {
    EXPECT_EQ(pipeline_status(execution_status(status)), status);
  }
  EXPECT_EQ(pipeline_status(model::ExecutionStatus::waiting_approval), model::PipelineStatus::waiting_for_approval);
  EXPECT_EQ(pipeline_status(model::ExecutionStatus::cancelled), model::PipelineStatus::aborted);
}

TEST(PipelineRecord, waiting_step_is_running_and_unbegun_step_is_pending) {
  EXPECT_EQ(step_of(NodeStatus::waiting_approval, true), StepStatus::running);
  EXPECT_EQ(step_of(NodeStatus::ready, false), StepStatus::pending);
  EXPECT_EQ(step_of(NodeStatus::skipped, false), StepStatus::pending);
  EXPECT_EQ(step_of(NodeStatus::cancelled, false), StepStatus::pending);
  EXPECT_EQ(step_of(NodeStatus::cancelled, true), StepStatus::failed);
  EXPECT_EQ(step_of(NodeStatus::completed, true), StepStatus::done);
}

// The output that an approval forwards is not the approval's own.
TEST(PipelineRecord, step_has_only_its_own_output_and_comment) {
  model::Workflow workflow;
  model::Execution execution;
  execution.inputs = Value::object();
  execution.inputs->set("prompt", Value::string("P"));
  execution.inputs->set("n", Value::integer(3));
  for (const char* id : {"step-1", "step-2"}) {
    workflow.nodes.emplace_back().id = id;
    model::NodeExecution& node = execution.nodes.emplace_back();
    node.node_id = id;
    node.status = NodeStatus::completed;
    node.outputs = Value::object();
    node.outputs->set("text", Value::string("said"));
    node.outputs->set("comment", Value::string("good"));
  }
  workflow.nodes[0].label = "coder";
  workflow.nodes[1].human_config.emplace();
  const PipelineRecord record = make_pipeline_record(execution, workflow);
  EXPECT_EQ(record.prompt, "P");
  EXPECT_EQ(record.inputs->as_object()->size(), 1U);
  EXPECT_EQ(record.steps[0].agent_name, "coder");
  EXPECT_EQ(record.steps[0].output, "said");
  EXPECT_FALSE(record.steps[0].comment);
  EXPECT_FALSE(record.steps[1].agent_name);
  EXPECT_FALSE(record.steps[1].output);
  EXPECT_EQ(record.steps[1].comment, "good");
  EXPECT_FALSE(record.approval_id);
  execution.nodes[1].status = NodeStatus::waiting_approval;
  execution.nodes[1].approval_id = base::ApprovalId(4);
  EXPECT_EQ(make_pipeline_record(execution, workflow).approval_id, base::ApprovalId(4));
}

}  // namespace
}  // namespace reeve::wire
