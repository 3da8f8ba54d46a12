#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/value.h"
#include "model/describe.h"

namespace reeve::wire {

// The body of POST /api/pipelines (PIP-2).
struct PipelineRequest {
  // One of `.reeve/pipelines.yaml`.
  std::string pipeline;
  std::string prompt;
  std::optional<base::Value> inputs;
  // The folder that it works in, absolute; else the project of the daemon.
  std::optional<std::string> project;
  // The caller's.
  std::map<std::string, std::string> environment;
};
BOOST_DESCRIBE_STRUCT(PipelineRequest, (), (pipeline, prompt, inputs, project, environment))

}  // namespace reeve::wire
