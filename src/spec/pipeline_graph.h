#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "model/workflow.h"

// Pipelines as graphs (GRF-16, S5): one engine drives them and workflows.
namespace reeve::spec {

// The name of an input that every pipeline has.
inline constexpr std::string_view pipeline_prompt = "prompt";

// What the pipeline is started with.
struct PipelineOrder {
  std::string name;
  std::string prompt;
  // An object; none of its names is `prompt`.
  base::Value inputs = base::Value::object();
};

struct PipelineGraph {
  model::Workflow workflow;
  // Beside those of the config: agents with a tool or a prompt of their own. No name of the config is among them.
  std::map<std::string, model::Role> roles;
  // For the first step.
  base::Value seeds;
};

// A line of nodes `step-1`, `step-2`, …: a task for an agent, a human node for an approval. A task is told the prompt
// and the inputs of the pipeline and what its step is, and, where there is something, what the agent before it said and
// what a person said to that (PIP-3). Names of the pipeline's inputs in the prompts of agents stand for their values,
// at every step. The pipeline was read by parse_pipelines with this config, and is there.
PipelineGraph compile_pipeline(const model::Pipelines& pipelines, const model::Config& config,
                               const PipelineOrder& order);

// By its id an execution is known to be a pipeline's. No workflow of a file can have such an id.
std::string pipeline_workflow_id(std::string_view pipeline);
bool is_pipeline(std::string_view workflow_id) noexcept;
inline constexpr std::string_view pipeline_id_start = "pipeline:";

}  // namespace reeve::spec
