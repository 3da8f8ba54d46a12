#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/describe.h"

// Pipelines (SPEC §4, S5): sequences of steps, compiled into graphs.
namespace reeve::model {

enum class StepType { agent, approval };
REEVE_DESCRIBE_ENUM(StepType, agent, approval)

// The status of a pipeline run, with the names of S5 (PIP-2).
enum class PipelineStatus { running, waiting_for_approval, done, failed, aborted };
REEVE_DESCRIBE_ENUM(PipelineStatus, running, waiting_for_approval, done, failed, aborted)

// A step that waits for an approval is `running`.
enum class StepStatus { pending, running, done, failed };
REEVE_DESCRIBE_ENUM(StepStatus, pending, running, done, failed)

struct PipelineAgent {
  // Exactly one of the two is set.
  std::optional<std::string> role;
  std::optional<std::string> tool;
  std::optional<std::string> prompt;
  // Like the setting of a role, which it overrides.
  std::optional<bool> prompt_takes_input;
  std::optional<std::string> description;
  friend bool operator==(const PipelineAgent&, const PipelineAgent&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineAgent, (), (role, tool, prompt, prompt_takes_input, description))

struct PipelineStep {
  StepType type = StepType::agent;
  // Set for agent steps only.
  std::optional<std::string> agent;
  std::string description;
  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineStep, (), (type, agent, description))

struct Pipeline {
  std::optional<std::string> description;
  std::vector<PipelineStep> steps;
  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};
BOOST_DESCRIBE_STRUCT(Pipeline, (), (description, steps))

struct Pipelines {
  std::map<std::string, PipelineAgent> agents;
  std::map<std::string, Pipeline> pipelines;
  friend bool operator==(const Pipelines&, const Pipelines&) = default;
};
BOOST_DESCRIBE_STRUCT(Pipelines, (), (agents, pipelines))

}  // namespace reeve::model
