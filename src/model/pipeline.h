#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/describe.h"

// Pipelines (SPEC §4, S5): steps one after the other, compiled into graphs.
namespace reeve::model {

enum class StepType { agent, approval };
REEVE_DESCRIBE_ENUM(StepType, agent, approval)

// One run of a pipeline, as S5 names it (PIP-2).
enum class PipelineStatus { running, waiting_for_approval, done, failed, aborted };
REEVE_DESCRIBE_ENUM(PipelineStatus, running, waiting_for_approval, done, failed, aborted)

// `running` also while a person is asked.
enum class StepStatus { pending, running, done, failed };
REEVE_DESCRIBE_ENUM(StepStatus, pending, running, done, failed)

struct PipelineAgent {
  // One of the two.
  std::optional<std::string> role;
  std::optional<std::string> tool;
  std::optional<std::string> prompt;
  // As that of a role, which it stands before.
  std::optional<bool> prompt_takes_input;
  std::optional<std::string> description;
  friend bool operator==(const PipelineAgent&, const PipelineAgent&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineAgent, (), (role, tool, prompt, prompt_takes_input, description))

struct PipelineStep {
  StepType type = StepType::agent;
  // Of an agent step; an approval step has none.
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
