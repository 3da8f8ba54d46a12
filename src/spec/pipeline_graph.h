#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "model/workflow.h"

// Compiles pipelines to workflow graphs (GRF-16, S5), so that one engine runs both.
namespace reeve::spec {

// The input that every pipeline has.
inline constexpr std::string_view pipeline_prompt = "prompt";

// What the pipeline is started with.
struct PipelineOrder {
  std::string name;
  std::string prompt;
  // An object without a member `prompt`.
  base::Value inputs = base::Value::object();
};

struct PipelineGraph {
  model::Workflow workflow;
  // Added to the config's roles, for agents with their own tool or prompt. Names never clash with the config's.
  std::map<std::string, model::Role> roles;
  // The inputs of the first step.
  base::Value seeds;
};

// A chain of nodes `step-1`, `step-2`, …: a task per agent step, a human node per approval step. A task receives the
// pipeline's prompt and inputs, its step description and, if present, the previous agent's output and the approver's
// comment on it (PIP-3). Pipeline input names in agent prompts are replaced by their values at every step. The pipeline
// must exist in `pipelines`, which parse_pipelines() has checked against this config.
PipelineGraph compile_pipeline(const model::Pipelines& pipelines, const model::Config& config,
                               const PipelineOrder& order);

// The id marks an execution as a pipeline's. A workflow file cannot have such an id.
std::string pipeline_workflow_id(std::string_view pipeline);
bool is_pipeline(std::string_view workflow_id) noexcept;
inline constexpr std::string_view pipeline_id_start = "pipeline:";

}  // namespace reeve::spec
