#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/value.h"
#include "model/describe.h"

namespace reeve::wire {

// The body of POST /api/pipelines (PIP-2).
struct PipelineRequest {
  // The name of a pipeline in `.reeve/pipelines.yaml`.
  std::string pipeline;
  std::string prompt;
  std::optional<base::Value> inputs;
  // The folder to work in, absolute; default: the project of the token or of the daemon, if it has one.
  std::optional<std::string> project;
  // The caller's environment.
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(PipelineRequest, (), (pipeline, prompt, inputs, project, environment))

}  // namespace reeve::wire
